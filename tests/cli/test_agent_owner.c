/* Whom a process works for, as control groups, environments and kubelet have it; formats and files.
 */
#include "cli/agent/owner.h"
#include "cli/agent/pod_list.h"
#include "cli/agent/text.h"
#include "tests/test.h"

#include <sys/stat.h>
#include <unistd.h>

TEST(pods_and_containers_are_read_from_control_groups)
{
	static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	char text[400];
	struct agent_owner o = {0};

	snprintf(text, sizeof(text),
		 "0::/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
		 "cri-containerd-%s.scope\n",
		 id);
	agent_owner_cgroup(text, &o);
	assert_string_equal(o.pod_uid, "01234567-89ab-cdef-0123-456789abcdef");
	assert_string_equal(o.container_id, "0123456789ab");
	memset(&o, 0, sizeof(o));
	agent_owner_cgroup("0::/user.slice/user-0.slice/session-3.scope\n0::/podium/pod", &o);
	assert_string_equal(o.pod_uid, "");
	assert_string_equal(o.container_id, "");
}

TEST(jobs_and_ranks_are_read_from_environments)
{
	static const char text[] =
		"HOME=/\0XSLURM_JOB_ID=9\0SLURM_JOB_ID=123\0RANK=7\0SLURM_PROCID=8"
		"\0POD_NAME=\0OPEN";
	struct agent_owner o = {0};

	agent_owner_environment(text, sizeof(text) - 1, &o);
	assert_string_equal(o.hpc_job, "123");
	assert_string_equal(o.rank, "7");
	assert_string_equal(o.pod, "");
	assert_string_equal(o.program, "");
	memset(&o, 0, sizeof(o));
	/* torchrun without an id, and with one. */
	agent_owner_environment("TORCHELASTIC_RUN_ID=none", 24, &o);
	assert_string_equal(o.hpc_job, "");
	agent_owner_environment("TORCHELASTIC_RUN_ID=night", 25, &o);
	assert_string_equal(o.hpc_job, "night");
}

/* PodResources of two pods and a shared GPU; names stand before and behind what they are of. */
static const char pods[] =
	"\x0a\x49\x0a\x01p\x12\x01n\x1a\x41\x0a\x01"
	"c\x12\x3c\x0a\x0envidia.com/gpu\x12\x28"
	"GPU-01020000-0000-0000-0000-000000000000"
	"\x22\x00\x22\x00"
	"\x0a\x3f\x1a\x37\x12\x35\x12\x2b"
	"MIG-AAAAAAAA-0000-0000-0000-000000000000::2\x12\x06nvidia\x12\x01m\x0a\x01q"
	"\x0a\x33\x1a\x2f\x12\x2d\x12\x2b"
	"GPU-aaaaaaaa-0000-0000-0000-000000000000::1\x12\x00";

TEST(pods_of_gpus_are_read_as_kubelet_has_them)
{
	struct agent_pod_list list = {0};
	const struct agent_pod *pod;

	assert_true(agent_pod_list_read(pods, sizeof(pods) - 1, &list));
	assert_int_equal(list.rows, 3);
	pod = agent_pod_of(&list, "GPU-01020000-0000-0000-0000-000000000000");
	assert_non_null(pod);
	assert_string_equal(pod->pod, "p");
	assert_string_equal(pod->namespace, "n");
	assert_string_equal(pod->container, "c");
	assert_string_equal(list.row[1].pod, "q");
	assert_string_equal(list.row[1].namespace, "m");
	/* Two containers have it. */
	assert_null(agent_pod_of(&list, "GPU-aaaaaaaa-0000-0000-0000-000000000000"));
	assert_null(agent_pod_of(&list, "GPU-bbbbbbbb-0000-0000-0000-000000000000"));
	assert_null(agent_pod_of(&list, "unknown-0"));
	free(list.row);
}

TEST(replicas_of_a_gpu_are_one_containers)
{
	/* Both replicas as kubelet has them, one of them twice, as on each of two NUMA nodes. */
	static const char two[] = "\x0a\x96\x01\x0a\x01p\x1a\x90\x01\x0a\x01"
				  "c\x12\x2d\x12\x2b"
				  "GPU-aaaaaaaa-0000-0000-0000-000000000000::0\x12\x2d\x12\x2b"
				  "GPU-aaaaaaaa-0000-0000-0000-000000000000::1\x12\x2d\x12\x2b"
				  "GPU-aaaaaaaa-0000-0000-0000-000000000000::0";
	struct agent_pod_list list = {0};
	const struct agent_pod *pod;

	assert_true(agent_pod_list_read(two, sizeof(two) - 1, &list));
	assert_int_equal(list.rows, 3);
	pod = agent_pod_of(&list, "GPU-aaaaaaaa-0000-0000-0000-000000000000");
	assert_non_null(pod);
	assert_string_equal(pod->container, "c");
	free(list.row);
}

TEST(a_list_of_pods_that_is_cut_is_none)
{
	size_t whole = 0;

	for (size_t size = 0; size < sizeof(pods); size++) {
		struct agent_pod_list list = {0};

		whole += agent_pod_list_read(pods, size, &list);
		free(list.row);
	}
	/* Nothing, one pod, a field of a later kubelet, two, three pods. */
	assert_int_equal(whole, 5);
}

TEST(the_accept_header_decides_the_format)
{
	assert_int_equal(agent_text_asked(NULL), TEXT_PROMETHEUS);
	assert_int_equal(agent_text_asked("*/*"), TEXT_PROMETHEUS);
	assert_int_equal(agent_text_asked("text/plain;version=0.0.4"), TEXT_PROMETHEUS);
	assert_int_equal(agent_text_asked("application/openmetrics-text;version=1.0.0;q=0.75,"
					  "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
			 TEXT_OPENMETRICS);
	assert_int_equal(agent_text_asked("application/openmetrics-text;q=0.2,text/plain;q=0.5"),
			 TEXT_PROMETHEUS);
	assert_int_equal(agent_text_asked("application/openmetrics-text;q=0"), TEXT_PROMETHEUS);
	assert_int_equal(agent_text_asked("application/vnd.google.protobuf;proto=io.prometheus."
					  "client.MetricFamily;encoding=delimited;q=0.6,"
					  "application/openmetrics-text;q=0.5,text/plain;q=0.3"),
			 TEXT_PROTOBUF);
	assert_int_equal(agent_text_asked("application/vnd.google.protobuf;encoding=text"),
			 TEXT_PROMETHEUS);
	assert_int_equal(agent_text_asked(",;q=,,;;"), TEXT_PROMETHEUS);
}

TEST(a_textfile_is_whole_or_the_one_before)
{
	char folder[] = "/tmp/gw-agent-XXXXXX", path[64], line[64] = "", why[300] = "";
	struct stat st;
	FILE *in;

	assert_non_null(mkdtemp(folder));
	assert_true(agent_textfile(folder, "first\n", 6, why, sizeof(why)));
	snprintf(path, sizeof(path), "%s/.gpuwatch.prom.tmp", folder);
	assert_int_equal(mkdir(path, 0700), 0); /* in the way */
	assert_false(agent_textfile(folder, "second\n", 7, why, sizeof(why)));
	assert_non_null(strstr(why, ".gpuwatch.prom.tmp: "));
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/gpuwatch.prom", folder);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_non_null(fgets(line, sizeof(line), in));
	fclose(in);
	assert_string_equal(line, "first\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	assert_false(agent_textfile(folder, "x", 1, why, sizeof(why)));
}

TESTS_MAIN()
