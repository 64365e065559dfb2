/* Non-negative least squares, from the normal equations. */
#ifndef GW_NNLS_H
#define GW_NNLS_H

#include <stdbool.h>

enum { GW_NNLS_MAX = 96 /**< most unknowns */ };

/**
 * Find x >= 0 that minimises x'Gx - 2x'b, for a Gram matrix G (@p n rows of @p n, symmetric: its
 * lower half is read). @p x: the solution; 0 for an unknown whose diagonal is 0. @p inverse, unless
 * NULL: the diagonal of the inverse of G over the unknowns that are not 0, which scales the
 * variance of a row to that of an unknown; 0 for the rest. Unknowns that the rows do not separate
 * get an enormous one. False when
 * @p n is too large or no solution was reached.
 */
bool gw_nnls(unsigned n, const double *gram, const double *rhs, double *x, double *inverse);

#endif
