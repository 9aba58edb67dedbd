/** What is the same in every record batch of version 2, for who writes them and who reads them. */

/** Its version. */
export const magic = 2;
/** Up to its first record. */
export const batchHeaderBytes = 61;
/** Up to behind the length that it states, which counts what follows. */
export const batchLengthEnd = 12;
/** Among its attributes, beside its compression. */
export const transactional = 0x10;
