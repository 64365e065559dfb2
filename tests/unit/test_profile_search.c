/* Where profiles are found, in which order, and how they are saved. */

#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/profile/profile.h"
#include "tests/test.h"

static struct gw_profile profile;
static struct gw_profile_error error;
static char home[64];

static void make_folder(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", home, path);
	assert_int_equal(mkdir(full, 0755), 0);
}

/* A file below `home`; its path stays valid until the next call. */
static const char *make_file(const char *path, const char *text)
{
	static char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", home, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	return full;
}

/* A profile of the GPU @p name, distinguished by its number of SMs. */
static const char *make_profile(const char *path, const char *name, unsigned sms)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"gpuwatch_profile\": 1, \"name\": \"%s\", \"aliases\": [\"short %u\"], "
		 "\"params\": {\"sm_count\": {\"value\": %u, \"unit\": \"1\", \"method\": "
		 "\"measured\"}}}",
		 name, sms, sms);
	return make_file(path, text);
}

static double found_sms(void)
{
	return gw_param(&profile.device, GW_PARAM_sm_count);
}

static int set_up(void **state)
{
	snprintf(home, sizeof(home), "/tmp/gw_profile_XXXXXX");
	assert_non_null(mkdtemp(home));
	make_folder("gpuwatch");
	make_folder("gpuwatch/profiles");
	make_folder("given");
	unsetenv("GPUWATCH_PROFILE");
	setenv("XDG_CONFIG_HOME", home, 1);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static int tear_down(void **state)
{
	nftw(home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

/* Not found, and the message says why @p path is not used. */
static void refused(const char *given, const char *path, const char *reason)
{
	assert_int_equal(gw_profile_find("Some GPU", given, &profile, &error), -1);
	if (!strstr(error.text, path) || !strstr(error.text, reason))
		fprintf(stderr, "said: %s\n", error.text);
	assert_non_null(strstr(error.text, path));
	assert_non_null(strstr(error.text, reason));
}

TEST_WITH(a_folder_that_others_may_write_is_refused, set_up, tear_down)
{
	static const mode_t modes[] = {0777, 01777, 0757};
	char folder[128];

	snprintf(folder, sizeof(folder), "%s/gpuwatch/profiles", home);
	make_profile("gpuwatch/profiles/x.json", "Some GPU", 5);
	assert_int_equal(gw_profile_find("Some GPU", NULL, &profile, &error), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(chmod(folder, modes[i]), 0);
		refused(NULL, folder, "others may write it");
	}
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(gw_profile_find("Some GPU", NULL, &profile, &error), 0);
}

TEST_WITH(a_file_that_others_may_write_is_refused, set_up, tear_down)
{
	const char *path = make_profile("gpuwatch/profiles/x.json", "Some GPU", 5);

	assert_int_equal(chmod(path, 0646), 0);
	refused(NULL, path, "others may write it (mode 0646)");
}

enum { USER = 65532, TEAM = 65531 };

/* As the user USER, whose own group has the same number: is the profile in a folder and file of
 * @p group, which may write both, taken? */
static bool taken_of_group(gid_t group)
{
	const char *path = make_profile("gpuwatch/profiles/x.json", "Some GPU", 5);
	char folder[128];
	int found;

	snprintf(folder, sizeof(folder), "%s/gpuwatch/profiles", home);
	if (chown(path, USER, group) || chown(folder, USER, group))
		skip();
	assert_int_equal(chmod(home, 0755) | chmod(folder, 0775) | chmod(path, 0664), 0);
	assert_int_equal(seteuid(USER), 0);
	found = gw_profile_find("Some GPU", NULL, &profile, &error);
	assert_int_equal(seteuid(0), 0);
	return found == 0;
}

TEST_WITH(what_the_users_own_group_may_write_is_taken, set_up, tear_down)
{
	assert_true(taken_of_group(USER));
}

TEST_WITH(what_another_group_may_write_is_refused, set_up, tear_down)
{
	assert_false(taken_of_group(TEAM));
	assert_non_null(strstr(error.text, "others may write it (mode 0775)"));
}

TEST_WITH(a_file_of_another_user_is_refused, set_up, tear_down)
{
	const char *path = make_profile("gpuwatch/profiles/x.json", "Some GPU", 5);

	if (chown(path, 65533, 65533))
		skip();
	refused(NULL, path, "it belongs to user 65533");
}

TEST_WITH(a_folder_of_another_user_is_refused, set_up, tear_down)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "%s/gpuwatch/profiles", home);
	make_profile("gpuwatch/profiles/x.json", "Some GPU", 5);
	if (chown(folder, 65533, 65533))
		skip();
	refused(NULL, folder, "it belongs to user 65533");
}

TEST_WITH(a_given_file_in_a_folder_that_others_may_write_is_refused, set_up, tear_down)
{
	char folder[128];
	const char *path = make_profile("given/x.json", "Some GPU", 5);

	snprintf(folder, sizeof(folder), "%s/given", home);
	assert_int_equal(chmod(folder, 01777), 0);
	refused(path, folder, "others may write it (mode 1777)");
}

TEST_WITH(names_match_whatever_their_case_and_punctuation, set_up, tear_down)
{
	char folder[128];

	make_profile("given/a.json", "NVIDIA GeForce RTX 9090", 1);
	snprintf(folder, sizeof(folder), "%s/given", home);
	assert_int_equal(gw_profile_find("nvidia geforce-rtx_9090", folder, &profile, &error), 0);
	assert_int_equal(gw_profile_find("SHORT-1", folder, &profile, &error), 0);
	assert_string_equal(error.text, "");
	assert_int_equal(gw_profile_find("RTX 9090", folder, &profile, &error), -1);
	assert_int_equal(gw_profile_find("--", folder, &profile, &error), -1);
}

TEST_WITH(the_users_profile_wins_over_the_shipped_one, set_up, tear_down)
{
	assert_int_equal(gw_profile_find("NVIDIA H200", NULL, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 132);
	make_profile("gpuwatch/profiles/h200.json", "NVIDIA H200", 7);
	assert_int_equal(gw_profile_find("NVIDIA H200", NULL, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 7);
}

TEST_WITH(home_stands_in_for_the_configuration_folder, set_up, tear_down)
{
	char folder[128];

	make_folder(".config");
	make_folder(".config/gpuwatch");
	make_folder(".config/gpuwatch/profiles");
	make_profile(".config/gpuwatch/profiles/x.json", "Some GPU", 5);
	assert_int_equal(gw_profile_find("Some GPU", NULL, &profile, &error), -1);
	snprintf(folder, sizeof(folder), "%s", home);
	setenv("HOME", folder, 1);
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(gw_profile_find("Some GPU", NULL, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 5);
}

TEST_WITH(the_environment_wins_over_the_user_and_an_argument_over_both, set_up, tear_down)
{
	make_profile("gpuwatch/profiles/g.json", "Some GPU", 1);
	setenv("GPUWATCH_PROFILE", make_profile("environment.json", "Some GPU", 2), 1);
	assert_int_equal(gw_profile_find("Some GPU", NULL, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 2);
	assert_int_equal(gw_profile_find("Some GPU", make_profile("given/x.json", "Some GPU", 3),
					 &profile, &error),
			 0);
	assert_int_equal((int)found_sms(), 3);
}

TEST_WITH(a_file_of_another_gpu_is_passed_over_and_named, set_up, tear_down)
{
	const char *path = make_profile("other.json", "Another GPU", 2);

	assert_int_equal(gw_profile_find("NVIDIA H200", path, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 132);
	assert_non_null(strstr(error.text, "describes 'Another GPU', not 'NVIDIA H200'"));
}

TEST_WITH(a_corrupt_file_is_passed_over_and_named, set_up, tear_down)
{
	make_file("gpuwatch/profiles/a.json", "{\n\"gpuwatch_profile\": 1,\n");
	make_profile("gpuwatch/profiles/b.json", "Some GPU", 4);
	assert_int_equal(gw_profile_find("Some GPU", NULL, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 4);
	assert_non_null(strstr(error.text, "profiles/a.json:3: "));
}

TEST_WITH(an_unknown_gpu_gives_an_error_with_a_remedy, set_up, tear_down)
{
	assert_int_equal(gw_profile_find("No Such GPU", NULL, &profile, &error), -1);
	assert_non_null(strstr(error.text, "no device profile for 'No Such GPU'"));
	assert_non_null(strstr(error.text, "gpuwatch calibrate"));
	assert_string_equal(profile.device.name, "");
}

TEST_WITH(a_missing_given_file_is_named, set_up, tear_down)
{
	assert_int_equal(gw_profile_find("No Such GPU", "/nonexistent.json", &profile, &error), -1);
	assert_non_null(strstr(error.text, "/nonexistent.json: can't read"));
}

TEST_WITH(open_takes_a_path_or_a_name, set_up, tear_down)
{
	const char *path = make_profile("x.json", "Some GPU", 6);

	assert_int_equal(gw_profile_open(path, NULL, &profile, &error), 0);
	assert_int_equal((int)found_sms(), 6);
	assert_string_equal(profile.path, path);
	assert_int_equal(gw_profile_open("GTX-480", NULL, &profile, &error), 0);
	assert_string_equal(profile.device.name, "NVIDIA GeForce GTX 480");
	assert_int_equal(gw_profile_open("missing.json", NULL, &profile, &error), -1);
}

TEST_WITH(each_shipped_name_and_alias_finds_its_own_profile, set_up, tear_down)
{
	DIR *folder = opendir(GW_PROFILES);
	struct dirent *entry;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		static struct gw_profile own;
		char path[4096];

		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", GW_PROFILES, entry->d_name);
		assert_int_equal(gw_profile_read(path, &own, &error), 0);
		for (unsigned i = 0; i <= own.alias_count; i++) {
			const char *name = i ? own.aliases[i - 1] : own.device.name;

			if (gw_profile_find(name, NULL, &profile, &error))
				fail_msg("%s", error.text);
			assert_string_equal(profile.device.name, own.device.name);
		}
	}
	closedir(folder);
}

struct tally {
	unsigned good, bad, stop_after;
};

static bool count(void *arg, const struct gw_profile *p, const char *message)
{
	struct tally *t = arg;

	assert_true(!p == (message != NULL));
	t->good += p != NULL;
	t->bad += p == NULL;
	return t->good + t->bad != t->stop_after;
}

TEST_WITH(each_visits_all_and_stops_when_reported, set_up, tear_down)
{
	struct tally all = {0}, some = {.stop_after = 2};

	make_file("gpuwatch/profiles/bad.json", "no");
	make_profile("gpuwatch/profiles/good.json", "Some GPU", 4);
	assert_true(gw_profile_each(NULL, count, &all));
	assert_int_equal(all.bad, 1);
	assert_true(all.good >= 23);
	assert_true(gw_profile_each(NULL, count, &some));
	assert_int_equal(some.good + some.bad, 2);
}

TEST_WITH(saving_replaces_a_profile_and_leaves_nothing_else, set_up, tear_down)
{
	static struct gw_profile saved;
	char path[256], folder[128];
	struct dirent **entries;
	int n;

	snprintf(path, sizeof(path), "%s", make_profile("given/x.json", "Old", 1));
	gw_profile_clear(&saved, "New");
	gw_device_set(&saved.device, GW_PARAM_sm_count, 9, GW_METHOD_MEASURED);
	assert_int_equal(gw_profile_save(&saved, path, &error), 0);
	assert_int_equal(gw_profile_read(path, &profile, &error), 0);
	assert_string_equal(profile.device.name, "New");
	snprintf(folder, sizeof(folder), "%s/given", home);
	n = scandir(folder, &entries, NULL, alphasort);
	assert_int_equal(n, 3); /* ., .. and the file */
	while (n--)
		free(entries[n]);
	free(entries);
}

TEST_WITH(a_save_that_fails_says_why, set_up, tear_down)
{
	static struct gw_profile saved;

	gw_profile_clear(&saved, "New");
	assert_int_equal(gw_profile_save(&saved, "/nonexistent/x.json", &error), -1);
	assert_non_null(strstr(error.text, "/nonexistent/x.json: can't write"));
	assert_non_null(strstr(error.text, "No such file"));
}

/* Copy this program below `home`. */
static void copy_program(const char *path)
{
	char full[256], buffer[65536];
	FILE *in = fopen("/proc/self/exe", "rb"), *out;
	size_t n;

	snprintf(full, sizeof(full), "%s/%s", home, path);
	out = fopen(full, "wb");
	assert_true(in && out);
	while ((n = fread(buffer, 1, sizeof(buffer), in)))
		assert_int_equal(fwrite(buffer, 1, n, out), n);
	fclose(in);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(full, 0755), 0);
}

/* Exit status of a copy of this program that looks for a GPU's profile. */
static int search_by_copy(const char *path, const char *name)
{
	char command[512];

	snprintf(command, sizeof(command), "cd / && PATH='%s/bin:/usr/bin:/bin' %s '%s' 2>&1", home,
		 path, name);
	return system(command);
}

TEST_WITH(an_installed_program_finds_the_profiles_beside_it, set_up, tear_down)
{
	make_folder("bin");
	make_folder("share");
	make_folder("share/gpuwatch");
	make_folder("share/gpuwatch/profiles");
	copy_program("bin/gw_search");
	assert_int_not_equal(search_by_copy("gw_search", "Installed GPU"), 0);
	make_profile("share/gpuwatch/profiles/x.json", "Installed GPU", 3);
	assert_int_equal(search_by_copy("gw_search", "Installed GPU"), 0);
	/* Away from the source tree its profiles are out of sight. */
	assert_int_not_equal(search_by_copy("gw_search", "NVIDIA H200"), 0);
}

/* Of what lies above the program only the prefix counts: the rest is anybody's, as below /tmp. */
TEST_WITH(no_profile_is_taken_from_a_folder_above, set_up, tear_down)
{
	make_folder("bin");
	copy_program("bin/gw_search");
	make_folder("calib");
	make_folder("calib/profiles");
	make_file("CMakeLists.txt", "");
	make_profile("calib/profiles/x.json", "Planted GPU", 3);
	assert_int_not_equal(search_by_copy("gw_search", "Planted GPU"), 0);
}

/* With an argument: the copy's part in the tests above. */
int main(int argc, char **argv)
{
	if (argc == 2)
		return gw_profile_find(argv[1], NULL, &profile, &error) ? 1 : 0;
	return tests_run(NULL, NULL);
}
