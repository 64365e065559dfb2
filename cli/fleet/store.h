/*
 * The files of a store (gpuwatch agent --store, gpuwatch export --format=parquet in folders), by
 * kind, in a folder of links whose names are numbers: no engine sees a name of the store.
 */
#ifndef GW_FLEET_STORE_H
#define GW_FLEET_STORE_H

#include "cli/fleet/plan.h"

enum fleet_table { FLEET_WORK, FLEET_STATE, FLEET_SAMPLES, FLEET_LAUNCHES, FLEET_TABLES };

extern const char *const fleet_table_names[FLEET_TABLES];

struct fleet_file {
	char *path;
	enum fleet_table table;
	char *host, *uuid, *model, *build; /**< as folders of its path tell, NULL: they do not */
	char why[96];                      /**< why it is left out; "": it is not */
};

struct fleet_store {
	struct fleet_file *file;
	size_t files, room, used[FLEET_TABLES];
	char folder[4096]; /**< of links; "": none */
};

/**
 * Find the files below @p path, but for days outside of @p span, and check the ends of each. False
 * after a message.
 */
bool fleet_store_find(struct fleet_store *store, const char *path, const struct fleet_span *span);

/** Make the folder of links; false after a message. */
bool fleet_store_link(struct fleet_store *store);

/** The file behind a link, "work/12.parquet"; NULL: it is none of them. */
struct fleet_file *fleet_store_of(struct fleet_store *store, const char *link);

/** Remove the links: what is shown may end in a pipe that nobody reads. */
void fleet_store_unlink(struct fleet_store *store);

/** Remove the links, and free all. */
void fleet_store_free(struct fleet_store *store);

#endif
