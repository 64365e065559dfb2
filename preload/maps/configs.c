#include "preload/maps/configs.h"

#include "preload/maps/memory.h"

static struct gw_config_entry *configs; /* [GW_CONFIGS_MAX], touched as used */
static uint32_t count;

bool gw_configs_start(void)
{
	count = 0;
	configs = gw_memory_reserve(GW_CONFIGS_MAX * sizeof(*configs));
	return configs != NULL;
}

uint32_t gw_config_add(void)
{
	configs[++count] = (struct gw_config_entry){0};
	return count;
}

struct gw_config_entry *gw_config_entry(uint32_t id)
{
	return &configs[id];
}

uint32_t gw_config_count(void)
{
	return count;
}
