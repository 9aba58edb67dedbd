const printableAscii = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** A text as JSON, for objects that are put together by hand, which is faster than JSON.stringify. */
export function quote(text: string): string {
  return printableAscii.test(text) ? `"${text}"` : JSON.stringify(text);
}
