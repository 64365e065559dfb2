/* Finds the profile of a GPU over the search path. */
#include "predictor/profile/json.h"
#include "predictor/profile/trust.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A walk over the search path. */
struct walk {
	bool (*visit)(void *arg, const struct gw_profile *profile, const char *message);
	void *arg;
	struct gw_profile *profile; /* room to read into */
	bool stopped;
};

/* Next letter or digit of a name, in lower case; 0 at the end. */
static int name_char(const char **s)
{
	while (**s && !isalnum((unsigned char)**s))
		(*s)++;
	return **s ? tolower((unsigned char)*(*s)++) : 0;
}

static bool same_name(const char *a, const char *b)
{
	int x, y;

	do {
		x = name_char(&a);
		y = name_char(&b);
	} while (x == y && x);
	return x == y;
}

bool gw_profile_is(const struct gw_profile *profile, const char *name)
{
	const char *rest = name;

	if (!name_char(&rest))
		return false; /* a name of punctuation only would equal any other such name */
	if (same_name(profile->device.name, name))
		return true;
	for (unsigned i = 0; i < profile->alias_count; i++)
		if (same_name(profile->aliases[i], name))
			return true;
	return false;
}

/* File of the program or library that holds this code; false when unknown. */
static bool own_path(char path[PATH_MAX])
{
	Dl_info info;

	/* For the program itself dli_fname is argv[0], which can be a bare name. */
	return (dladdr((void *)(uintptr_t)own_path, &info) && info.dli_fname &&
		strchr(info.dli_fname, '/') && realpath(info.dli_fname, path)) ||
	       realpath("/proc/self/exe", path);
}

static void report(struct walk *w, const char *message)
{
	w->stopped = !w->visit(w->arg, NULL, message);
}

/* Who may write the library or program that this is needs no profile to do harm. */
static bool trusted(struct walk *w, const char *path)
{
	struct gw_profile_error error = {""};
	char own[PATH_MAX];
	bool ours = gw_trusted(path, own_path(own) ? own : NULL, error.text, sizeof(error.text));

	if (!ours)
		report(w, error.text);
	return ours;
}

static void visit_file(struct walk *w, const char *path)
{
	struct gw_profile_error error;

	if (!trusted(w, path))
		return;
	if (gw_profile_read(path, w->profile, &error))
		report(w, error.text);
	else
		w->stopped = !w->visit(w->arg, w->profile, NULL);
}

static int is_json(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 5 && entry->d_name[0] != '.' && !strcmp(entry->d_name + n - 5, ".json");
}

/* In the order of names, so that the same folder always gives the same answer. */
static void visit_folder(struct walk *w, const char *folder)
{
	struct dirent **entries;
	int n = trusted(w, folder) ? scandir(folder, &entries, is_json, alphasort) : -1;
	char path[PATH_MAX];

	for (int i = 0; i < n; i++) {
		int length = snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);

		if (!w->stopped && i < GW_PROFILE_FILES && length > 0 && length < PATH_MAX)
			visit_file(w, path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void visit_below(struct walk *w, const char *base, const char *tail)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s%s", base, tail);

	if (!w->stopped && length > 0 && length < PATH_MAX && is_folder(path))
		visit_folder(w, path);
}

static void drop_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* A file by itself: whoever may write its folder may replace it. */
static void visit_given(struct walk *w, const char *path)
{
	char folder[PATH_MAX];

	if (gw_folder_of(path, folder) && trusted(w, folder))
		visit_file(w, path);
}

/* PREFIX/bin/gpuwatch, PREFIX/lib/libgpuwatch.so or PREFIX/lib/ARCH/libgpuwatch.so: PREFIX/share.
 * So it is in a build folder, too. */
static void visit_shipped(struct walk *w)
{
	char up[PATH_MAX];

	if (!own_path(up))
		return;
	drop_last(up);
	for (unsigned level = 0; *up && level < 2; level++) {
		drop_last(up);
		visit_below(w, up, "/share/gpuwatch/profiles");
	}
}

static const char *given_or_environment(const char *given)
{
	if (!given || !*given)
		given = secure_getenv("GPUWATCH_PROFILE");
	return given && *given ? given : NULL;
}

/* The user's own folder into @p path; false when there is no home. */
static bool own_profiles(char path[PATH_MAX])
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	int length = -1;

	if (config && *config == '/')
		length = snprintf(path, PATH_MAX, "%s/gpuwatch/profiles", config);
	else if (home && *home == '/')
		length = snprintf(path, PATH_MAX, "%s/.config/gpuwatch/profiles", home);
	return length > 0 && length < PATH_MAX;
}

void gw_profile_slug(const char *name, char *out, size_t size)
{
	size_t used = 0;

	for (; *name && used + 1 < size; name++) {
		if (isalnum((unsigned char)*name))
			out[used++] = (char)tolower((unsigned char)*name);
		else if (used && out[used - 1] != '-')
			out[used++] = '-';
	}
	while (used && out[used - 1] == '-')
		used--;
	out[used] = '\0';
}

bool gw_profile_own_path(const char *name, char *path, size_t size)
{
	char folder[PATH_MAX], file[sizeof(((struct gw_device *)0)->name)];
	int length;

	gw_profile_slug(name, file, sizeof(file));
	if (!own_profiles(folder) || !*file)
		return false;
	length = snprintf(path, size, "%s/%s.json", folder, file);
	return length > 0 && (size_t)length < size;
}

static void visit_all(struct walk *w, const char *given)
{
	char own[PATH_MAX];

	given = given_or_environment(given);
	if (given && is_folder(given))
		visit_folder(w, given);
	else if (given)
		visit_given(w, given);
	if (own_profiles(own))
		visit_below(w, own, "");
	visit_below(w, "", "/etc/gpuwatch/profiles");
	visit_shipped(w);
}

bool gw_profile_each(const char *given,
		     bool (*visit)(void *arg, const struct gw_profile *profile,
				   const char *message),
		     void *arg)
{
	struct walk w = {.visit = visit, .arg = arg, .profile = malloc(sizeof(*w.profile))};

	if (!w.profile)
		return false;
	visit_all(&w, given);
	free(w.profile);
	return true;
}

/* What gw_profile_find looks for, and what it found on the way. */
struct hunt {
	const char *name, *given;
	struct gw_profile *out;
	struct gw_profile_error *passed; /* first file passed over */
	bool found;
};

static bool hunt_visit(void *arg, const struct gw_profile *profile, const char *message)
{
	struct hunt *h = arg;

	if (!profile) {
		if (!*h->passed->text)
			gw_profile_say(h->passed, "%s", message);
		return true;
	}
	h->found = gw_profile_is(profile, h->name);
	if (h->found)
		*h->out = *profile;
	else if (h->given && !strcmp(h->given, profile->path) && !*h->passed->text)
		gw_profile_say(h->passed,
			       "%s: describes '%s', not '%s': not used; if they are the same, add "
			       "the name to its \"aliases\"",
			       profile->path, profile->device.name, h->name);
	return !h->found;
}

int gw_profile_find(const char *name, const char *given, struct gw_profile *out,
		    struct gw_profile_error *error)
{
	struct hunt h = {
		.name = name, .given = given_or_environment(given), .out = out, .passed = error};
	struct gw_profile_error passed;

	error->text[0] = '\0';
	gw_profile_clear(out, "");
	if (!gw_profile_each(given, hunt_visit, &h)) {
		gw_profile_say(error, "no memory to look for the profile of '%s'", name);
		return -1;
	}
	if (h.found)
		return 0;
	passed = *error;
	gw_profile_say(error,
		       "no device profile for '%s'; run `gpuwatch calibrate` on it, or name a "
		       "profile file%s%s",
		       name, *passed.text ? ". Passed over: " : "", passed.text);
	return -1;
}

int gw_profile_open(const char *name_or_file, const char *given, struct gw_profile *out,
		    struct gw_profile_error *error)
{
	size_t n = strlen(name_or_file);

	if (strchr(name_or_file, '/') || (n > 5 && !strcmp(name_or_file + n - 5, ".json")))
		return gw_profile_read(name_or_file, out, error);
	return gw_profile_find(name_or_file, given, out, error);
}
