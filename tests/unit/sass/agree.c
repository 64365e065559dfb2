#include "predictor/code/sass/sass.h"
#include "tests/unit/sass/sass_fixture.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a line of a disassembler's text says of its instruction, by tables of mnemonics that know
 * nothing of encodings: the other opinion that the decoder is checked against.
 */

enum { SASS_TEXT_REGS = 12 };

struct sass_text {
	char mnemonic[32];       /* up to the first dot */
	const char *cls, *space; /* names as in sass/opcode.def; NULL: the tables don't have it */
	const char *tensor;      /* operand type; NULL: none */
	unsigned width;          /* bits per thread of a memory operation */
	unsigned flops;          /* of a tensor instruction */
	int guard;               /* predicate; 7: always */
	bool guard_not;
	unsigned regs[SASS_TEXT_REGS]; /* general registers named, in order; R255 left out */
	unsigned reg_count;
};

/* Mnemonics between blanks. */
static const struct {
	const char *cls, *space, *mnemonics;
} table[] = {
	{"fp32", "none",
	 " FADD FMUL FFMA FMNMX FMNMX3 FSET FSETP FCHK FSWZADD FADD2 FMUL2 FFMA2 UFSETP "},
	{"fp64", "none", " DADD DMUL DFMA DSETP "},
	{"fp16", "none", " HADD2 HMUL2 HFMA2 HSET2 HSETP2 HMNMX2 "},
	{"tensor", "none", " HMMA IMMA DMMA BMMA QMMA HGMMA IGMMA QGMMA BGMMA "},
	{"tensor", "tensor memory", " UTCHMMA UTCQMMA UTCIMMA "},
	{"int", "none",
	 " IADD IADD3 IMAD IMNMX IABS IDP ISETP LEA VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX "
	 "VIMNMX3 "
	 " UIADD3 UIMAD UISETP ULEA UVIMNMX "},
	{"logic", "none",
	 " LOP3 SHF BREV FLO POPC BMSK SGXT ULOP3 USHF UFLO UPOPC UBREV UBMSK USGXT "},
	{"sfu", "none", " MUFU "},
	{"convert", "none", " F2F F2I I2F F2FP I2FP FRND F2IP UI2F "},
	{"load", "global", " LDG "},
	{"load", "generic", " LD "},
	{"load", "shared", " LDS LDSM "},
	{"load", "local", " LDL "},
	{"load", "constant", " LDC ULDC LDCU "},
	{"load", "tensor memory", " LDTM "},
	{"store", "global", " STG "},
	{"store", "generic", " ST "},
	{"store", "shared", " STS STSM "},
	{"store", "local", " STL "},
	{"store", "tensor memory", " STTM "},
	{"atomic", "generic", " ATOM "},
	{"atomic", "global", " ATOMG "},
	{"atomic", "shared", " ATOMS "},
	{"reduction", "global", " RED REDG "},
	{"copy", "global", " LDGSTS UTMALDG UTMASTG UTMAREDG UTMAPF UBLKCP UBLKRED UBLKPF "},
	{"copy", "tensor memory", " UTCCP "},
	{"texture", "texture", " TEX TLD TLD4 TXD TXQ TMML "},
	{"surface", "texture", " SULD SUST SUATOM SURED "},
	{"control", "none",
	 " BRA BRX BRXU JMP JMX CALL RET EXIT BSSY BSYNC BREAK YIELD WARPSYNC KILL BPT NANOSLEEP "
	 "ENDCOLLECTIVE "},
	{"barrier", "none",
	 " BAR DEPBAR LDGDEPBAR MEMBAR ERRBAR CGAERRBAR FENCE WARPGROUP UCGABAR_ARV UCGABAR_WAIT "
	 " PREEXIT ACQBULK UTMACMDFLUSH UTCBAR "},
	{"barrier", "shared", " SYNCS ARRIVES "},
	{"move", "none",
	 " MOV SEL FSEL PRMT CS2R S2R B2R BMOV MOVM LEPC UMOV USEL UPRMT R2UR S2UR CS2UR "},
	{"predicate", "none", " PLOP3 P2R R2P UPLOP3 UP2UR UR2UP "},
	{"warp", "none", " SHFL VOTE VOTEU MATCH REDUX CREDUX ELECT "},
	{"other", "none", " NOP CCTL CCTLL QSPC UTMACCTL UVIRTCOUNT "},
	{"other", "tensor memory", " UTCATOMSWS "},
};

static void classify(struct sass_text *out)
{
	char key[40];

	snprintf(key, sizeof(key), " %s ", out->mnemonic);
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strstr(table[i].mnemonics, key)) {
			out->cls = table[i].cls;
			out->space = table[i].space;
		}
}

/* The mnemonic's modifier @p name: ".64" but not the start of ".64x8". */
static bool modifier(const char *mnemonic, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strchr(mnemonic, '.'); at; at = strchr(at + 1, '.'))
		if (!strncmp(at + 1, name, length) && (at[1 + length] == '.' || !at[1 + length]))
			return true;
	return false;
}

static unsigned text_width(const struct sass_text *out, const char *mnemonic)
{
	bool matrix = !strcmp(out->mnemonic, "LDSM") || !strcmp(out->mnemonic, "STSM");

	if (!out->cls || !strcmp(out->space, "tensor memory") ||
	    !(!strcmp(out->cls, "load") || !strcmp(out->cls, "store") ||
	      !strcmp(out->cls, "atomic") || !strcmp(out->cls, "reduction") ||
	      !strcmp(out->mnemonic, "LDGSTS")))
		return 0;
	if (matrix)
		return modifier(mnemonic, "4") ? 128 : modifier(mnemonic, "2") ? 64 : 32;
	if (modifier(mnemonic, "128"))
		return 128;
	if (modifier(mnemonic, "64") || modifier(mnemonic, "F64"))
		return 64;
	if (modifier(mnemonic, "U8") || modifier(mnemonic, "S8"))
		return 8;
	return modifier(mnemonic, "U16") || modifier(mnemonic, "S16") ? 16 : 32;
}

static const char *tensor_type(const char *mnemonic)
{
	static const char *const types[][2] = {
		{"BF16", "bf16"}, {"TF32", "tf32"}, {"E4M3", "fp8"},
		{"E5M2", "fp8"},  {"S8", "int8"},   {"U8", "int8"},
		{"S4", "int4"},   {"U4", "int4"},   {"POPC", "binary"}};

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (modifier(mnemonic, types[i][0]))
			return types[i][1];
	return *mnemonic == 'D' ? "fp64" : "fp16";
}

/* "16816", "8x8x4", "64x256x16": 2 m n k. */
static unsigned tensor_flops(const char *mnemonic)
{
	static const struct {
		const char *name;
		unsigned m, n, k;
	} plain[] = {{"884", 8, 8, 4},       {"1684", 16, 8, 4},    {"1688", 16, 8, 8},
		     {"16816", 16, 8, 16},   {"16832", 16, 8, 32},  {"16864", 16, 8, 64},
		     {"8816", 8, 8, 16},     {"8832", 8, 8, 32},    {"88128", 8, 8, 128},
		     {"168128", 16, 8, 128}, {"168256", 16, 8, 256}};
	const char *at = strchr(mnemonic, '.');
	unsigned m, n, k;

	for (; at; at = strchr(at + 1, '.'))
		if (sscanf(at, ".%ux%ux%u", &m, &n, &k) == 3)
			return 2 * m * n * k;
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (modifier(mnemonic, plain[i].name))
			return 2 * plain[i].m * plain[i].n * plain[i].k;
	return 0;
}

static void read_regs(struct sass_text *out, const char *operands)
{
	for (const char *c = operands; *c; c++) {
		bool start = c == operands || !(isalnum((unsigned char)c[-1]) || c[-1] == '_');

		if (*c == 'R' && isdigit((unsigned char)c[1]) && start &&
		    out->reg_count < SASS_TEXT_REGS)
			out->regs[out->reg_count++] = (unsigned)strtoul(c + 1, NULL, 10);
	}
}

/* Read @text, "@!P0 FADD R1, R2, R3". */
static void sass_text_read(struct sass_text *out, const char *text)
{
	char mnemonic[64] = "";
	int length = 0;

	memset(out, 0, sizeof(*out));
	out->guard = 7;
	if (*text == '@') {
		out->guard_not = text[1] == '!';
		text += 1 + out->guard_not;
		text += *text == 'U';
		out->guard = text[1] == 'T' ? 7 : text[1] - '0';
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	sscanf(text, "%63s%n", mnemonic, &length);
	snprintf(out->mnemonic, sizeof(out->mnemonic), "%.*s", (int)strcspn(mnemonic, "."),
		 mnemonic);
	classify(out);
	out->width = text_width(out, mnemonic);
	if (out->cls && !strcmp(out->cls, "tensor") && strcmp(out->space, "tensor memory") != 0) {
		out->tensor = tensor_type(mnemonic);
		out->flops = tensor_flops(mnemonic);
	}
	read_regs(out, text + length);
}

/* The decoder beside it. */

static bool same_class(const struct gw_sass_insn *insn, const struct sass_text *text)
{
	return text->cls && !strcmp(gw_sass_class_name(insn->cls), text->cls) &&
	       !strcmp(gw_sass_space_name(insn->space), text->space);
}

static bool same_details(const struct gw_sass_insn *insn, const struct sass_text *text)
{
	if (insn->guard != text->guard || insn->guard_not != text->guard_not)
		return false;
	if (insn->width != text->width)
		return false;
	if (!text->tensor)
		return true;
	return !strcmp(gw_sass_tensor_name(insn->tensor), text->tensor) &&
	       insn->tensor_flops == text->flops;
}

static void mark(bool *set, const struct gw_sass_regs *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].first < GW_SASS_RZ)
			set[list[i].first] = true;
}

/* First registers of what is read and written: the text names no others. */
static bool same_regs(const struct gw_sass_insn *insn, const struct sass_text *text)
{
	bool ours[256] = {0}, theirs[256] = {0};

	mark(ours, insn->defs, insn->def_count);
	mark(ours, insn->uses, insn->use_count);
	for (unsigned i = 0; i < text->reg_count; i++)
		theirs[text->regs[i]] = true;
	return !memcmp(ours, theirs, sizeof(ours));
}

/* Classes whose dependences matter and whose operands are decoded in full. */
static bool has_operands(const struct gw_sass_insn *insn)
{
	switch (insn->cls) {
	case GW_SASS_TENSOR: /* metadata of sparse forms is not decoded */
		return insn->pipe == GW_SASS_PIPE_TENSOR && insn->op != GW_SASS_OP_HMMA_16 &&
		       insn->op != GW_SASS_OP_HGMMA;
	case GW_SASS_TEXTURE:
	case GW_SASS_SURFACE:
	case GW_SASS_CONTROL:
	case GW_SASS_BARRIER:
	case GW_SASS_COPY:
	case GW_SASS_OTHER:
	case GW_SASS_ATOMIC: /* ATOMS.ARRIVE names one register less */
		return false;
	default:
		return true;
	}
}

static void complain(unsigned *lines, const char *what, const struct listing_line *line)
{
	if ((*lines)++ < 10)
		fprintf(stderr, "%s differs: %s\n", what, line->text);
}

static void compare(struct agreement *a, const struct listing_line *line, unsigned sm,
		    unsigned *lines)
{
	struct gw_sass_insn insn;
	struct sass_text text;
	bool same;

	a->insns++;
	a->known += gw_sass_decode(line->bytes, sm, &insn);
	sass_text_read(&text, line->text);
	same = same_class(&insn, &text);
	a->cls += same;
	if (!same)
		complain(lines, "class", line);
	same = same && same_details(&insn, &text);
	a->details += same;
	if (!same)
		complain(lines, "width, guard or shape", line);
	if (!has_operands(&insn))
		return;
	a->compute++;
	same = same_regs(&insn, &text);
	a->regs += same;
	if (!same)
		complain(lines, "register", line);
}

struct agreement agree(const struct listing *listing, unsigned sm)
{
	struct agreement a = {0};
	unsigned lines = 0;

	for (uint32_t k = 0; k < listing->count; k++)
		for (uint32_t i = 0; i < listing->kernels[k].count; i++)
			compare(&a, &listing->kernels[k].lines[i], sm, &lines);
	return a;
}
