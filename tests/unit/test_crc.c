/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/log/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The check value of CRC-32C in the catalogues (iSCSI, RFC 3720: 32 zero bytes). */
static void the_published_check_values_come_out(void **state)
{
	static const unsigned char zeros[32];

	(void)state;
	assert_int_equal(gw_crc32(0, "123456789", 9), 0xe3069283);
	assert_int_equal(gw_crc32_by_table(0, "123456789", 9), 0xe3069283);
	assert_int_equal(gw_crc32(0, zeros, sizeof(zeros)), 0x8a9136aa);
}

static void both_ways_agree_at_every_length(void **state)
{
	unsigned char data[257];

	(void)state;
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 131 + 7);
	for (size_t n = 0; n <= sizeof(data); n++)
		assert_int_equal(gw_crc32(0, data, n), gw_crc32_by_table(0, data, n));
}

static void parts_continue_each_other(void **state)
{
	(void)state;
	assert_int_equal(gw_crc32(gw_crc32(0, "12345", 5), "6789", 4), 0xe3069283);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_published_check_values_come_out),
	        cmocka_unit_test(both_ways_agree_at_every_length),
	        cmocka_unit_test(parts_continue_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
