#include "preload/analysis/code_unseen.h"

#include "predictor/core/hash.h"
#include "preload/analysis/code_mapped.h"
#include "preload/analysis/code_open.h"
#include "preload/launch/module_reports.h"
#include "preload/maps/memory.h"

#include <ctype.h>
#include <string.h>

enum {
	PROCESSORS = 8,      /* compute capabilities that are distinguished */
	FOUND_MAX = 1 << 16, /* kernels in what was searched */
	RESERVED = 1024,     /* bytes of shared memory that the system may have of each block */
};

/* How sure it is that a kernel's code is what the driver runs, were it the only one. */
enum sort { REPORTED, MAPPED, OLDER, SORTS }; /* OLDER: made for an earlier processor */

/* A kernel in what was searched. */
struct found {
	uint64_t name, code, params; /* hashes; params 0: not known */
	const struct gw_module_note *note;
	uint32_t processor;                            /* that it was searched for */
	uint32_t sort, registers, shared, param_count; /* GW_CODE_UNKNOWN: not known */
};

/* What was searched for a processor. */
static struct progress {
	uint32_t processor, places; /* 0: free */
	const struct gw_module_note *report;
} progress[PROCESSORS];

static struct found *found;
static uint32_t found_count, found_room;
static size_t searched, hashed; /* bytes of files, of machine code */
static bool whole;              /* all that there is has been searched */

void gw_code_unseen_start(void)
{
	gw_code_mapped_start();
	memset(progress, 0, sizeof(progress));
	found = NULL;
	found_count = found_room = 0;
	searched = hashed = 0;
	whole = true;
}

static bool room_for_one(void)
{
	uint32_t room = found_room ? found_room * 2 : 64;
	struct found *wider;

	if (found_count < found_room)
		return true;
	wider = room > FOUND_MAX ? NULL
				 : gw_memory_wider(GW_MEMORY_modules, found, found_room, room,
						   sizeof(*found));
	if (!wider)
		return whole = false;
	found = wider;
	found_room = room;
	return true;
}

static uint64_t params_hash(const struct gw_code_param *p, uint32_t count)
{
	return gw_hash(count, p, count * sizeof(*p)) | 1;
}

/* ---- machine code ---- */

static uint64_t hash_more(uint64_t h, const void *data, size_t size)
{
	return gw_hash_mix(h ^ gw_module_digest(data, size));
}

/* Whether an instruction may read the bank of functions' addresses: where it would name the bank.
 */
static bool may_call_outside(const struct gw_code_kernel *k)
{
	enum { ADDRESSES = 4, INSTRUCTION = 16, BANK = 54, BANK_BITS = 31 };
	uint64_t word;

	for (size_t at = 0; gw_bytes_get(k->code, at, &word, sizeof(word)); at += INSTRUCTION)
		if ((word >> BANK & BANK_BITS) == ADDRESSES)
			return true;
	return false;
}

static uint64_t hash_places(uint64_t h, const struct gw_code_relocation *r, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t place[] = {r[i].offset, r[i].type, (uint64_t)r[i].addend};

		h = hash_more(h, place, sizeof(place));
		h = hash_more(h, r[i].symbol, strlen(r[i].symbol));
	}
	return h;
}

/*
 * Of all that is read of a kernel: equal for what is the same code in two images. The program's
 * constants (bank 3) are not, which a program sets as it runs; of what else its cubin has only what
 * it uses.
 */
static uint64_t code_hash(const struct gw_code_kernel *k)
{
	enum { TABLES = 2 };
	const uint32_t numbers[] = {k->arch.number, k->registers,  k->static_shared, k->frame,
				    k->param_base,  k->param_size, k->exit_count};
	uint64_t h = hash_more(0, k->code.data, k->code.size);

	h = hash_more(h, numbers, sizeof(numbers));
	h = hash_more(h, k->bank[TABLES].data, k->bank[TABLES].size);
	h = hash_places(h, k->relocation, k->relocation_count);
	return may_call_outside(k) ? hash_places(h, k->outside, k->outside_count) : h;
}

static void add_machine(const struct gw_open_code *open, const struct gw_cubin *cubin, uint32_t at,
			enum sort sort)
{
	struct gw_code_kernel k;
	struct gw_arena arena;
	struct gw_fault fault;

	if (!room_for_one())
		return;
	gw_arena_init(&arena, GW_CODE_KERNEL_MEMORY);
	if (hashed > GW_CODE_SEARCH_MAX || !gw_cubin_kernel(cubin, at, &arena, &k, &fault)) {
		whole = false;
	} else {
		hashed += k.code.size; /* many kernels may claim the same code */
		found[found_count++] = (struct found){
			.name = gw_hash(0, k.name, strlen(k.name)),
			.code = code_hash(&k),
			.params = k.param_count == GW_CODE_UNKNOWN
					  ? 0
					  : params_hash(k.param, k.param_count),
			.note = open->note,
			.processor = open->processor,
			.sort = sort,
			.registers = k.registers,
			.shared = k.static_shared,
			.param_count = k.param_count,
		};
	}
	gw_arena_free(&arena);
}

/* What has still to be linked is in no module: the linked code stands elsewhere in the file. */
static void add_cubin(const struct gw_open_code *open, const struct gw_cubin *cubin, bool reported)
{
	bool exact = cubin->arch.number == open->processor;

	if (reported ? !exact : !cubin->linked)
		return;
	for (uint32_t i = 0; i < cubin->count; i++)
		add_machine(open, cubin, i, reported ? REPORTED : exact ? MAPPED : OLDER);
}

/* ---- PTX ---- */

static bool in_name(uint8_t c)
{
	return isalnum(c) || c == '_' || c == '$' || c == '%';
}

/* A word in some text. */
static bool has(struct gw_bytes text, const char *word)
{
	return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

/* From an entry's name to the end of its body; all that is left where that has none. */
static struct gw_bytes entry_text(struct gw_bytes text, size_t at)
{
	size_t depth = 0, i;

	for (i = at; i < text.size; i++) {
		depth += text.data[i] == '{';
		if (text.data[i] == '}' && depth-- <= 1)
			break;
	}
	return (struct gw_bytes){text.data + at, i - at};
}

/* Parameters stand before the body. */
static uint32_t count_params(struct gw_bytes entry)
{
	const uint8_t *body = memchr(entry.data, '{', entry.size), *end = body;
	const uint8_t *at = entry.data;
	uint32_t count = 0;

	while (end && at < end && (at = memmem(at, (size_t)(end - at), ".param", 6))) {
		at += 6;
		count++;
	}
	return end ? count : GW_CODE_UNKNOWN;
}

/* The entry at @p at, if there is one; the place behind it. */
static size_t add_entry(const struct gw_open_code *open, struct gw_bytes text, size_t at,
			uint64_t *of_text)
{
	struct gw_bytes entry = entry_text(text, at);
	bool alone = !has(entry, "call") && !has(entry, ".const");
	size_t length = 0;

	while (length < entry.size && in_name(entry.data[length]))
		length++;
	if (!length || !room_for_one())
		return at + entry.size;
	/* What it does may stand outside of it. */
	if (!alone && !*of_text)
		*of_text = hash_more(1, text.data, text.size) | 1;
	found[found_count++] = (struct found){
		.name = gw_hash(0, entry.data, length),
		.code = alone ? hash_more(1, entry.data, entry.size)
			      : hash_more(*of_text, entry.data, length),
		.note = open->note,
		.processor = open->processor,
		.sort = MAPPED,
		.registers = GW_CODE_UNKNOWN,
		.shared = GW_CODE_UNKNOWN,
		.param_count = count_params(entry),
	};
	return at + entry.size;
}

/* Each byte is looked at a bounded number of times, whatever the text is. */
static void add_ptx(const struct gw_open_code *open, struct gw_bytes text)
{
	static const char word[] = ".entry";
	uint64_t of_text = 0;
	size_t at = 0;

	while (at < text.size) {
		const uint8_t *next =
			memmem(text.data + at, text.size - at, word, sizeof(word) - 1);

		if (!next)
			break;
		at = (size_t)(next - text.data) + sizeof(word) - 1;
		while (at < text.size && isspace(text.data[at]))
			at++;
		at = add_entry(open, text, at, &of_text);
	}
}

/* ---- the search ---- */

static void search(const struct gw_module_note *note, uint32_t processor, bool reported)
{
	const struct gw_open_code *open;

	if (searched > GW_CODE_SEARCH_MAX) {
		whole = false;
		return;
	}
	open = gw_code_open(note, processor);
	searched += open->arena.used + (size_t)note->bytes;
	if (open->arena.refused)
		whole = false;
	for (uint32_t i = 0; i < open->parts; i++)
		if (open->part[i].ptx.size)
			add_ptx(open, open->part[i].ptx);
		else
			add_cubin(open, &open->part[i].cubin, reported);
}

static struct progress *progress_of(uint32_t processor)
{
	for (unsigned i = 0; i < PROCESSORS; i++)
		if (!progress[i].processor || progress[i].processor == processor) {
			progress[i].processor = processor;
			return &progress[i];
		}
	return NULL;
}

/* What has come since the last time. False where not all there is was ever searched. */
static bool search_news(uint32_t processor)
{
	struct progress *p = progress_of(processor);
	bool listed = gw_code_mapped_look(), kept;
	const struct gw_module_note *newest = gw_module_reports(&kept);

	if (!p)
		return false;
	for (const struct gw_module_note *n = newest; n && n != p->report; n = n->next)
		search(n, processor, true);
	p->report = newest;
	for (; p->places < gw_code_mapped_count(); p->places++)
		search(gw_code_mapped(p->places), processor, false);
	return listed && kept && whole;
}

/* ---- the choice ---- */

/* What the driver reports of a kernel is of the code that it runs. */
static bool agrees(const struct gw_kernel_slot *k, const struct found *f)
{
	const struct gw_layout *l = k->layout;

	if (f->registers != GW_CODE_UNKNOWN && k->registers != UINT32_MAX &&
	    f->registers != k->registers)
		return false;
	if (f->shared != GW_CODE_UNKNOWN && k->static_shared != UINT32_MAX &&
	    f->shared != k->static_shared && f->shared + RESERVED != k->static_shared)
		return false;
	if (l && f->param_count != GW_CODE_UNKNOWN && f->param_count != l->count)
		return false;
	return !l || !f->params || f->params == params_hash(l->param, l->count);
}

/* The code under a name, by sort: the first, and whether there is other code. */
struct choice {
	const struct found *first[SORTS];
	bool several[SORTS], others; /* others: code that is not what the driver runs */
};

static struct choice look_up(const struct gw_kernel_slot *k)
{
	uint64_t name = gw_hash(0, k->name, strlen(k->name));
	struct choice c = {0};

	for (const struct found *f = found; f < found + found_count; f++) {
		if (f->name != name || f->processor != k->binary_version)
			continue;
		if (!agrees(k, f))
			c.others = true;
		else if (!c.first[f->sort])
			c.first[f->sort] = f;
		else if (c.first[f->sort]->code != f->code)
			c.several[f->sort] = true;
	}
	return c;
}

/*
 * What was reported is what runs, but not who it is of: where objects have several codes of the
 * name it may be that of a module which was loaded before reports came.
 */
static const struct found *choose(const struct choice *c, bool all, const char **why)
{
	for (unsigned i = 0; i < SORTS; i++) {
		*why = "its module was loaded unseen, and there is other code of its name";
		if (c->several[i] || (c->first[i] && i == REPORTED && c->several[MAPPED]))
			return NULL;
		if (c->first[i])
			return c->first[i];
	}
	*why = "its module was loaded unseen, and no object of the process holds its code";
	if (!all)
		*why = "its module was loaded unseen, and not all code could be searched for it";
	if (c->others)
		*why = "its module was loaded unseen, and what has its name is other code";
	return NULL;
}

/* PTX says too little of what the driver reports: that there is no other must be known. */
static bool is_certain(const struct gw_kernel_slot *k, const struct found *f, bool all)
{
	return all || f->registers != GW_CODE_UNKNOWN ||
	       (k->layout && f->param_count != GW_CODE_UNKNOWN);
}

static bool open_found(const struct found *f, const char *name, struct gw_arena *arena,
		       struct gw_code *out)
{
	const struct gw_open_code *open = gw_code_open(f->note, f->processor);
	struct gw_fault fault;

	out->why = open->why ? open->why : "its file has changed since it was loaded";
	for (uint32_t i = 0; i < open->parts; i++) {
		const struct gw_code_part *p = &open->part[i];
		uint32_t at = gw_cubin_find(&p->cubin, name);

		if (p->ptx.size) {
			out->ptx = p->ptx;
			out->why = NULL;
		} else if (at < p->cubin.count) {
			out->machine = gw_cubin_kernel(&p->cubin, at, arena, &out->kernel, &fault);
			out->why = out->machine ? NULL : fault.what;
		}
	}
	return !out->why;
}

bool gw_code_unseen(const struct gw_kernel_slot *kernel, struct gw_arena *arena,
		    struct gw_code *out)
{
	bool all = search_news(kernel->binary_version);
	struct choice c = look_up(kernel);
	const struct found *f = choose(&c, all, &out->why);

	if (!f)
		return false;
	out->why = "its module was loaded unseen, and not all code could be searched for it";
	return is_certain(kernel, f, all) && open_found(f, kernel->name, arena, out);
}
