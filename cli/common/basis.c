#include "cli/common/basis.h"

static const struct {
	const char *name, *key;
} tiers[GW_TIER_STEADY + 1] = {
	[GW_TIER_NONE] = {"no prediction", "no_prediction"},
	[GW_TIER_COLD] = {"never timed", "never_timed"},
	[GW_TIER_WARM] = {"kernel timed", "kernel_timed"},
	[GW_TIER_STEADY] = {"same shape timed", "same_shape_timed"},
};

static const struct {
	const char *name, *key;
} sources[GW_SOURCE_COUNTED + 1] = {
	[GW_SOURCE_NONE] = {"none", "none"},
	[GW_SOURCE_STATIC] = {"static analysis", "static_analysis"},
	[GW_SOURCE_SCALED] = {"extrapolated", "extrapolated"},
	[GW_SOURCE_GIVEN] = {"given", "given"},
	[GW_SOURCE_COUNTED] = {"measured counters", "measured_counters"},
};

const char *gw_basis_name(enum gw_tier tier)
{
	return tiers[(unsigned)tier <= GW_TIER_STEADY ? tier : GW_TIER_NONE].name;
}

const char *gw_basis_key(enum gw_tier tier)
{
	return tiers[(unsigned)tier <= GW_TIER_STEADY ? tier : GW_TIER_NONE].key;
}

const char *gw_work_basis_name(enum gw_source source)
{
	return sources[(unsigned)source <= GW_SOURCE_COUNTED ? source : GW_SOURCE_NONE].name;
}

const char *gw_work_basis_key(enum gw_source source)
{
	return sources[(unsigned)source <= GW_SOURCE_COUNTED ? source : GW_SOURCE_NONE].key;
}
