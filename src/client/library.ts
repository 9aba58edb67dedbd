/** How the library names itself, in each batch's context and as its user agent. */
export const library: { readonly name: string; readonly version: string } = {
  name: 'postrider-client',
  version: '0.1.0',
};
