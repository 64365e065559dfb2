/* Between the files that know one form of image file each; not for others. */
#ifndef GW_CODE_IMAGE_PARTS_H
#define GW_CODE_IMAGE_PARTS_H

#include "predictor/code/binary/image.h"

/** A file being opened. */
struct gw_image_scan {
	struct gw_bytes file; /**< the whole of it: offsets count from its begin */
	struct gw_arena *arena;
	struct gw_images *out;
	struct gw_fault *fault;
	const char *member, *section; /**< where in the file we are; NULL for neither */
};

/** Note the fault, @p at being a place in scan->file. Returns false. */
bool gw_scan_fault(const struct gw_image_scan *scan, const char *what, const uint8_t *at);

/** Append an image of which kind, stored bytes and header are known. */
bool gw_scan_add(struct gw_image_scan *scan, struct gw_image image);

/*
 * Each lists the images of one form of file: @p part is all of scan->file or a piece of it. False
 * with the fault.
 */
bool gw_scan_fatbin(struct gw_image_scan *scan, struct gw_bytes part);  /**< a container */
bool gw_scan_fatbins(struct gw_image_scan *scan, struct gw_bytes part); /**< nothing but those */
bool gw_scan_cubin(struct gw_image_scan *scan, struct gw_bytes part);
bool gw_scan_host(struct gw_image_scan *scan, struct gw_bytes part);
bool gw_scan_archive(struct gw_image_scan *scan, struct gw_bytes part);

/** Whether the bytes begin with a fatbin container's header. */
bool gw_is_fatbin(struct gw_bytes part);
/** Of bytes that begin like one: how long the container is, if its header and that of its first
 * entry refer to bytes that exist; 0: it is no entry. */
uint64_t gw_fatbin_size(struct gw_bytes part);
enum { GW_FATBIN_HEAD = 80 /**< bytes of the headers of a container of one entry */ };

/** Write the headers of a container of one cubin for @p arch, of @p size bytes, which stands behind
 *  them in @p packed bytes of LZ4's and is padded to a multiple of 8. */
void gw_fatbin_head(uint8_t *to, struct gw_code_arch arch, size_t packed, size_t size);

/** Whether the bytes begin like an archive. */
bool gw_is_archive(struct gw_bytes part);

#endif
