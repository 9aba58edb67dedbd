/** The part of it that the tests use; the package brings no types. */
declare module 'analytics-node' {
  interface Options {
    readonly host: string;
    readonly errorHandler: (error: unknown) => void;
  }
  export default class Analytics {
    constructor(writeKey: string, options: Options);
    track(call: object): void;
    page(call: object): void;
    identify(call: object): void;
    group(call: object): void;
    alias(call: object): void;
    flush(): Promise<unknown>;
  }
}
