#include "cli/inspect/launch.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"
#include "cli/message.h"

#define FORM "--launch=\"grid=4 block=128 args=100,2.5,pointer\""

/* Where "pointer" arguments point: far from each other, aligned as allocations are. */
#define POINTER_BASE UINT64_C(0x700000000000)
enum { POINTER_SHIFT = 36 };

/* "4", "4,2" or "4x2x1". */
static bool extent(const char *key, const char *text, struct gw_dim3 *out)
{
	uint32_t *d[] = {&out->x, &out->y, &out->z};
	const char *at = text;

	*out = (struct gw_dim3){1, 1, 1};
	for (unsigned i = 0; i < 3; i++) {
		char *end;
		unsigned long value;

		errno = 0;
		value = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
		if (!value || errno || value > INT32_MAX)
			break;
		*d[i] = (uint32_t)value;
		if (!*end)
			return true;
		if (*end != ',' && *end != 'x')
			break;
		at = end + 1;
	}
	gw_error("inspect: --launch: %s=%s is not one to three whole numbers from 1, as in "
		 "%s=4,2,1",
		 key, text, key);
	return false;
}

static bool shared(const char *text, uint32_t *out)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	*out = (uint32_t)value;
	if (isdigit((unsigned char)*text) && !*end && !errno && value <= 1 << 20)
		return true;
	gw_error("inspect: --launch: shared=%s is not a number of bytes up to 1048576", text);
	return false;
}

static bool arguments(struct inspect_launch *l, char *text)
{
	char *save = NULL;

	l->given = true;
	for (char *a = strtok_r(text, ",", &save); a; a = strtok_r(NULL, ",", &save)) {
		if (l->count == INSPECT_ARGUMENTS_MAX) {
			gw_error("inspect: --launch: more than %d arguments",
				 INSPECT_ARGUMENTS_MAX);
			return false;
		}
		l->argument[l->count++] = a;
	}
	return true;
}

enum { GRID = 1, BLOCK = 2, CLUSTER = 4, SHARED = 8, ARGS = 16 };

static unsigned key_of(const char *word, const char **value)
{
	static const struct {
		const char *name;
		unsigned key;
	} keys[] = {{"grid=", GRID},
		    {"block=", BLOCK},
		    {"cluster=", CLUSTER},
		    {"shared=", SHARED},
		    {"args=", ARGS}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t length = strlen(keys[i].name);

		*value = word + length;
		if (strncmp(word, keys[i].name, length) == 0)
			return keys[i].key;
	}
	return 0;
}

static bool read_word(struct inspect_launch *l, char *word, unsigned *seen)
{
	const char *value;
	unsigned key = key_of(word, &value);

	if (!key || (*seen & key)) {
		gw_error("inspect: --launch: \"%s\" %s; it takes grid=, block=, cluster=, shared= "
			 "and args=, each once, as in " FORM,
			 word, key ? "comes twice" : "is not known");
		return false;
	}
	*seen |= key;
	switch (key) {
	case GRID:
		return extent("grid", value, &l->config.grid);
	case BLOCK:
		return extent("block", value, &l->config.block);
	case CLUSTER:
		return extent("cluster", value, &l->config.cluster);
	case SHARED:
		return shared(value, &l->config.dynamic_shared);
	default:
		return arguments(l, word + (value - word));
	}
}

bool inspect_launch_read(struct inspect_launch *launch, const char *text)
{
	unsigned seen = 0;
	char *save = NULL;

	*launch = (struct inspect_launch){.config.cluster = {1, 1, 1}, .text = gw_copy(text)};
	for (char *w = strtok_r(launch->text, " \t", &save); w; w = strtok_r(NULL, " \t", &save))
		if (!read_word(launch, w, &seen))
			return false;
	if ((seen & (GRID | BLOCK)) == (GRID | BLOCK))
		return true;
	gw_error("inspect: --launch needs grid= and block=, as in " FORM);
	return false;
}

void inspect_launch_free(struct inspect_launch *launch)
{
	free(launch->text);
}

static bool is_real(const char *text)
{
	return strncmp(text, "0x", 2) != 0 && strpbrk(text, ".eE") != NULL;
}

/* A number of 4 or 8 bytes with a point or exponent. */
static bool real(const char *text, uint8_t *to, uint32_t size)
{
	char *end;
	double value = strtod(text, &end);
	float single = (float)value;

	if (end == text || *end || (size != 4 && size != 8))
		return false;
	memcpy(to, size == 4 ? (const void *)&single : (const void *)&value, size);
	return true;
}

static bool whole(const char *text, uint8_t *to, uint32_t size)
{
	bool negative = *text == '-';
	uint64_t value, most;
	char *end;

	if (!isdigit((unsigned char)text[negative]) || size > 8)
		return false;
	errno = 0;
	value = strtoull(text + negative, &end, 0);
	most = size == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
	if (*end || errno || value > (negative ? most / 2 + 1 : most))
		return false;
	value = negative ? 0 - value : value;
	memcpy(to, &value, size);
	return true;
}

/* "bytes:00ff12": as many as the parameter has. */
static bool raw(const char *text, uint8_t *to, uint32_t size)
{
	if (strlen(text) != 2 * (size_t)size)
		return false;
	for (uint32_t i = 0; i < size; i++) {
		const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};

		if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]))
			return false;
		to[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return true;
}

static bool place(struct inspect_arguments *out, const char *text, uint32_t index,
		  const struct gw_ir_param *p)
{
	const uint64_t pointer = POINTER_BASE + ((uint64_t)(index + 1) << POINTER_SHIFT);
	uint8_t *to = out->bytes + p->offset;

	if (strcmp(text, "?") == 0)
		return true;
	memset(out->known + p->offset, 1, p->size);
	if (strcmp(text, "pointer") == 0) {
		if (p->size == sizeof(pointer))
			memcpy(to, &pointer, sizeof(pointer));
		return p->size == sizeof(pointer);
	}
	if (strncmp(text, "bytes:", 6) == 0)
		return raw(text + 6, to, p->size);
	return is_real(text) ? real(text, to, p->size) : whole(text, to, p->size);
}

bool inspect_arguments_make(struct inspect_arguments *out, const struct inspect_launch *launch,
			    const struct gw_ir_param *param, uint32_t count)
{
	*out = (struct inspect_arguments){0};
	for (uint32_t i = 0; i < count; i++)
		if (param[i].offset + param[i].size > out->size)
			out->size = param[i].offset + param[i].size;
	out->bytes = gw_alloc(out->size);
	out->known = gw_alloc(out->size);
	if (!launch->given)
		return true;
	if (launch->count != count) {
		snprintf(out->fault, sizeof(out->fault),
			 "it takes %" PRIu32 " argument%s, not %" PRIu32
			 "; ? stands for one that is not known",
			 count, count == 1 ? "" : "s", launch->count);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!place(out, launch->argument[i], i, &param[i])) {
			snprintf(out->fault, sizeof(out->fault),
				 "argument %" PRIu32 ", \"%.60s\", does not fit its parameter of "
				 "%" PRIu32 " bytes: give a whole number, one with a point, "
				 "pointer, bytes:HEX or ?",
				 i, launch->argument[i], param[i].size);
			return false;
		}
	return true;
}

void inspect_arguments_free(struct inspect_arguments *arguments)
{
	free(arguments->bytes);
	free(arguments->known);
}
