import process from 'node:process';

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The only place that reads `process.env`: for the settings, `${NAME}` in resource files, and the client. */
export const environment: Environment = process.env;
