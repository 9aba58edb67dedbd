import { parseArgs, type ParseArgsConfig } from 'node:util';

type Arguments<Config extends ParseArgsConfig> = ReturnType<typeof parseArgs<Config>>;

/** The arguments of one of this project's own commands. Wrong ones end it with 2 and a sentence. */
export class CommandLine {
  readonly #name: string;
  readonly #usage: string;

  /** @param usage what may follow `npm run NAME -- ` */
  constructor(name: string, usage: string) {
    this.#name = name;
    this.#usage = usage;
  }

  read<const Config extends ParseArgsConfig>(config: Config): Arguments<Config> {
    try {
      return parseArgs(config);
    } catch (error) {
      return this.refuse((error as Error).message);
    }
  }

  /** The whole number that a flag gives. */
  whole(flag: string, text: string, least: number = 1): number {
    const number = Number(text);
    if (text !== '' && Number.isSafeInteger(number) && number >= least) return number;
    return this.refuse(`--${flag} is '${text}'; allowed: a whole number from ${least}`);
  }

  refuse(why: string): never {
    console.error(`${this.#name}: ${why}\nusage: npm run ${this.#name} -- ${this.#usage}`);
    process.exit(2);
  }
}
