/* Any bytes as a device profile: refused with a message, or read, written and read alike. */
#include <string.h>

#include "predictor/profile/profile.h"
#include "starve.h"

static char *written(const struct gw_profile *p, size_t *length)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, length);

	require(f && !gw_profile_write(p, f) && !fclose(f), "writing failed");
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gw_profile first, second;
	struct gw_profile_error error;
	size_t once_length, twice_length;
	char *once, *twice;

	if (gw_profile_parse((const char *)data, size, "fuzz", &first, &error)) {
		require(!strncmp(error.text, "fuzz:", 5), "no place in the message");
		require(!*first.device.name, "a refused profile left something behind");
		return 0;
	}
	once = written(&first, &once_length);
	require(!gw_profile_parse(once, once_length, "written", &second, &error), error.text);
	twice = written(&second, &twice_length);
	require(once_length == twice_length && !memcmp(once, twice, once_length),
		"writing is not stable");
	free(once);
	free(twice);
	return 0;
}
