#include "predictor/code/binary/info.h"

enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };
enum { COMPAT_ACCELERATOR = 0x09 };

bool gw_info_next(struct gw_bytes *info, struct gw_info_item *item)
{
	struct {
		uint8_t format, attribute;
		uint16_t value;
	} head;
	uint64_t length = sizeof(head);

	if (!gw_bytes_get(*info, 0, &head, sizeof(head)))
		return false;
	*item = (struct gw_info_item){.attribute = head.attribute, .value = head.value};
	if (head.format == FORMAT_SIZED) {
		if (!gw_bytes_slice(*info, sizeof(head), head.value, &item->payload))
			return false;
		length += head.value;
	} else if (head.format == FORMAT_BYTE) {
		item->value &= 0xff;
	} else if (head.format != FORMAT_NONE && head.format != FORMAT_HALF) {
		return false;
	}
	return gw_bytes_slice(*info, length, info->size - length, info);
}

bool gw_info_accelerated(struct gw_bytes compat)
{
	struct gw_info_item item;

	while (gw_info_next(&compat, &item))
		if (item.attribute == COMPAT_ACCELERATOR)
			return item.value != 0;
	return false;
}
