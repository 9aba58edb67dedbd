import { resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { ESLint, type Linter } from 'eslint';
import ts from 'typescript';
import tseslint from 'typescript-eslint';

/**
 * `node test/run/types-and-lint.ts [--cached] PATH…`: the types of everything, and lint of these folders and files, in
 * one process, where the rules that ask for types find those that the check has made. With `--cached`, lint looks only
 * at files that have changed since they were right.
 */
const { values, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: { cached: { type: 'boolean', default: false } },
});
const pagesFolder = resolve('src/console/web') + sep;
const [everything, pages] = [
  checked('tsconfig.json', '.cache/types.tsbuildinfo'),
  checked('src/console/web/tsconfig.json', '.cache/types-of-pages.tsbuildinfo'),
];
await lint();

/** A program whose types have been checked; what is wrong with them has been printed. */
function checked(configFile: string, tsBuildInfoFile: string): ts.Program {
  const parsed = ts.getParsedCommandLineOfConfigFile(
    configFile,
    { incremental: true, tsBuildInfoFile: resolve(tsBuildInfoFile) },
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        report([diagnostic]);
      },
    },
  );
  if (parsed === undefined) process.exit(1);
  const { fileNames: rootNames, options, errors: configFileParsingDiagnostics } = parsed;
  const program = ts.createIncrementalProgram({ rootNames, options, configFileParsingDiagnostics });
  report([
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...program.getSemanticDiagnostics(),
    ...program.getDeclarationDiagnostics(),
  ]);
  // Nothing but what the next check needs.
  program.emit();
  return program.getProgram();
}

function report(diagnostics: readonly ts.Diagnostic[]): void {
  if (diagnostics.length === 0) return;
  process.exitCode = 1;
  const text = ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(diagnostics), {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => process.cwd(),
    getNewLine: () => '\n',
  });
  process.stdout.write(text);
}

async function lint(): Promise<void> {
  const eslint = new ESLint({
    cache: values.cached,
    cacheLocation: '.cache/eslint',
    cacheStrategy: 'content',
    overrideConfig: {
      files: ['**/*.ts', '**/*.tsx'],
      languageOptions: { parser: parserWithTypes(), parserOptions: { projectService: false } },
    },
  });
  const results = await eslint.lintFiles(paths);
  const formatter = await eslint.loadFormatter('stylish');
  process.stdout.write(await formatter.format(results));
  if (results.some(({ errorCount }) => errorCount > 0)) process.exitCode = 1;
}

interface TypedParser {
  parseForESLint(text: string, options: object): Linter.ESLintParseResult;
}

/** The parser of the configuration. Programs cannot be options of it, because the cache would have to write them down. */
function parserWithTypes(): Linter.Parser {
  const parser = tseslint.parser as TypedParser;
  return {
    ...parser,
    parseForESLint: (text, options: { readonly filePath: string }) => {
      const program = options.filePath.startsWith(pagesFolder) ? pages : everything;
      return parser.parseForESLint(text, { ...options, programs: [program] });
    },
  };
}
