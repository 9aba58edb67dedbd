import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { escapeHtml } from './access/page-html.ts';
import type { Brand } from './brand/brand.ts';
import { contentTypes, pageFile, type PageFile } from './page-file.ts';

const webDir: string = path.join(import.meta.dirname, 'web');
/** Beside the compiled file, where the image's build has put them. */
const builtDir: string = path.join(import.meta.dirname, 'pages');

/** The pages as the image's build left them, or bundled now from the sources, in a fraction of a second; and the brand's files. */
export async function loadPages(brand: Brand): Promise<readonly PageFile[]> {
  const files = await readPages();
  const pages = files.map((file) => (file.path === 'index.html' ? branded(file, brand) : file));
  return [...pages, ...brand.files];
}

/** The pages read the name from their title, and the rest from their head. */
function branded({ path: name, content }: PageFile, brand: Brand): PageFile {
  const { logo, accent, backUrl } = brand;
  const meta = (what: string, value: string | undefined): string =>
    value === undefined ? '' : `<meta name="postrider-${what}" content="${escapeHtml(value)}" />`;
  const sheet =
    accent === undefined ? '' : `<link rel="stylesheet" href="${escapeHtml(accent)}" />`;
  const head = `${meta('logo', logo)}${meta('back', backUrl)}${sheet}</head>`;
  const html = content
    .toString()
    .replace(/<title>.*<\/title>/, () => `<title>${escapeHtml(brand.name)}</title>`)
    .replace('</head>', () => head);
  return pageFile(name, Buffer.from(html));
}

async function readPages(): Promise<readonly PageFile[]> {
  if (!existsSync(path.join(builtDir, 'index.html'))) return bundlePages();
  const names = await readdir(builtDir, { recursive: true });
  return Promise.all(
    names
      .filter((name) => path.extname(name) in contentTypes)
      .map(async (name) => pageFile(name, await readFile(path.join(builtDir, name)))),
  );
}

async function bundlePages(): Promise<readonly PageFile[]> {
  // Not in the image, which has the pages built.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: ['main.tsx', 'style/main.css', 'icon.svg'].map((name) => path.join(webDir, name)),
    bundle: true,
    minify: true,
    format: 'esm',
    // What few screens need comes when one is opened.
    splitting: true,
    target: ['chrome120', 'firefox121', 'safari17.2'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    write: false,
    outdir: webDir,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
  });
  const assets = outputFiles.map((file) =>
    pageFile(`assets/${path.basename(file.path)}`, Buffer.from(file.contents)),
  );
  const urlOf = (name: string, extension: string): string =>
    `/${assets.find((file) => file.path.startsWith(`assets/${name}-`) && file.path.endsWith(extension))?.path ?? ''}`;
  const html = (await readFile(path.join(webDir, 'index.html'), 'utf8'))
    .replace('SCRIPT', urlOf('main', '.js'))
    .replace('STYLE', urlOf('main', '.css'))
    .replace('ICON', urlOf('icon', '.svg'));
  return [pageFile('index.html', Buffer.from(html)), ...assets];
}

/** For the image: `node src/console/build-pages.ts dist/console/pages` */
if (import.meta.main) {
  const outDir = process.argv[2];
  if (outDir === undefined) throw new Error('which folder? node src/console/build-pages.ts FOLDER');
  for (const file of await bundlePages()) {
    const target = path.join(outDir, file.path);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, file.content);
  }
}
