/*
 * Device code as it is found: fatbins, cubins and PTX, bare or inside host objects, executables,
 * shared libraries and archives of objects. Opening lists the images and reads nothing but
 * headers; each image is unpacked when its bytes are asked for. Bytes come from the caller's
 * memory, there is no I/O.
 */
#ifndef GW_CODE_IMAGE_H
#define GW_CODE_IMAGE_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/bytes.h"
#include "predictor/code/binary/compress.h"

/** What an image is. */
enum gw_image_kind {
	GW_IMAGE_PTX,   /**< PTX text */
	GW_IMAGE_CUBIN, /**< machine code, an ELF file */
	GW_IMAGE_OTHER, /**< of another kind, listed but not read: code for link-time optimisation
			 */
};

/** Which processors code is for. */
struct gw_code_arch {
	uint16_t number; /**< 10 * major + minor of the compute capability; 0 = unknown */
	char suffix;     /**< 'a': this one only, 'f': its family; 0: none */
};

/** An image. Every text and all stored bytes lie in the file or in the arena. */
struct gw_image {
	enum gw_image_kind kind;
	uint16_t entry_kind; /**< the number of its kind in a fatbin; 0 where it stands bare */
	struct gw_code_arch arch;
	uint16_t version_major, version_minor; /**< of the PTX language; both 0 for others */
	enum gw_compression compression;
	bool debug;             /**< compiled for a debugger (-G) */
	struct gw_bytes stored; /**< as it lies in the file, packed or not */
	uint64_t size;          /**< bytes unpacked */
	uint64_t offset;        /**< of `stored` in the file */
	uint32_t container; /**< the container it lies in, from 0 through the whole file; the driver
			       chooses one image of a container */
	const char *member; /**< of an archive; NULL elsewhere */
	const char *section; /**< of the host's ELF file; NULL elsewhere */
	const char *name;    /**< name of the source, if the compiler left it; else NULL */
	const char *options; /**< options for compiling PTX further; NULL when there are none */
};

/** The images of a file, in the order of the file. */
struct gw_images {
	const char *form; /**< what the file is, in words: "fatbin", "ELF shared library" */
	struct gw_image *image;
	size_t count;
	uint32_t containers; /**< containers found; a bare image counts as one */
	size_t room;         /**< elements allocated */
};

/**
 * List the images of @p file. False with the fault when the file is none that can be read, or is
 * broken; what was found before the fault then still stands in @p out. A host file without device
 * code is no fault: its list is empty.
 */
bool gw_images_open(struct gw_bytes file, struct gw_arena *arena, struct gw_images *out,
		    struct gw_fault *fault);

/**
 * The bytes of an image, unpacked into @p arena where it is packed. PTX comes without the zeros
 * that end it. False with the fault, whose place is that of the image, when it can't be unpacked.
 */
bool gw_image_bytes(const struct gw_image *image, struct gw_arena *arena, struct gw_bytes *out,
		    struct gw_fault *fault);

/** How many images, from number @p first on, lie in the same container as that one. */
size_t gw_images_together(const struct gw_images *images, size_t first);

/**
 * The image that the driver takes for a device of compute capability @p device (10 * major + minor)
 * among the @p count images of a container: the machine code closest to the device, else the newest
 * PTX. NULL when none runs there.
 */
const struct gw_image *gw_image_choose(const struct gw_image *image, size_t count, unsigned device);

/** "sm_90a" or, for PTX, "compute_90a" into @p out, at most 24 bytes. Returns @p out. */
const char *gw_code_arch_text(struct gw_code_arch arch, bool ptx, char out[24]);

#endif
