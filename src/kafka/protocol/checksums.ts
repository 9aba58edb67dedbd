/** @throws RangeError with both checksums if they differ */
export function compareChecksums(stated: number, actual: number): void {
  if (stated !== actual)
    throw new RangeError(`its checksum is ${hex(stated)}, but that of its bytes is ${hex(actual)}`);
}

function hex(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}
