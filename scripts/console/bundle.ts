import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { ROOT } from './console-inputs.ts';

const run = promisify(execFile);

/** The page that opens when the address names none. */
const FIRST_VIEW = 'src/console/operate/overview-view.tsx';

/** The script that starts the page. */
const MAIN = 'src/console/main.ts';

/** The script that runs before the first paint. */
const FIRST_PAINT = 'src/console/first-paint.ts';

/** Names of the files that the page asks for first. */
export interface Bundle {
  /** The script for which the page waits before it paints. */
  readonly firstPaint: string;
  readonly script: string;
  readonly style: string;
  /** The scripts that the first one imports statically, so that the browser need not discover them one by one. */
  readonly preloads: readonly string[];
  /** The scripts of the first view, which the first script loads on demand. */
  readonly firstView: readonly string[];
}

/** The part of the metafile of esbuild that is used. */
interface Metafile {
  readonly outputs: Readonly<
    Record<
      string,
      {
        readonly entryPoint?: string;
        readonly imports: ReadonlyArray<{ readonly path: string; readonly kind: string }>;
      }
    >
  >;
}

/**
 * Bundles scripts and styles into a folder, with a digest of the content in each name. Pages that are loaded on demand
 * become files of their own.
 *
 * @param main the script that starts the page
 */
export async function bundle(folder: string, main = MAIN): Promise<Bundle> {
  const esbuild = join(await findTools(), 'esbuild/bin/esbuild');
  const outputs = await runEsbuild(esbuild, folder, [
    main,
    'src/console/style.css',
    '--splitting',
    '--format=esm',
  ]);
  // Modules run after the first paint, so this one is a script of its own that shares no file with them.
  const early = await runEsbuild(esbuild, folder, [FIRST_PAINT, '--format=iife']);
  const script = outputOf(outputs, main);
  const preloads = closureOf(outputs, script).slice(1);
  const firstView = closureOf(outputs, outputOf(outputs, FIRST_VIEW));
  return {
    firstPaint: basename(outputOf(early, FIRST_PAINT)),
    script: basename(script),
    style: basename(outputOf(outputs, 'src/console/style.css')),
    preloads: preloads.map((path) => basename(path)),
    firstView: firstView.map((path) => basename(path)),
  };
}

/** Installs the packages of the build, if they are missing. @returns their folder */
export async function findTools(): Promise<string> {
  // npm runs under the Node that runs this.
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const { stdout } = await run('sh', [join(ROOT, 'scripts/node-tools.sh'), 'console-tools'], {
    env: { ...process.env, PATH },
  });
  return join(stdout.trim(), 'node_modules');
}

/** Bundles entry points into a folder. @returns what it has written */
async function runEsbuild(esbuild: string, folder: string, options: readonly string[]): Promise<Outputs> {
  const metafile = join(folder, 'meta.json');
  await run(
    process.execPath,
    [
      esbuild,
      ...options,
      '--bundle',
      '--target=es2024',
      '--minify',
      // Without the configuration of the type checker, which the image build does not have.
      '--tsconfig-raw={}',
      '--jsx=automatic',
      '--jsx-import-source=preact',
      '--charset=utf8',
      '--legal-comments=none',
      '--log-level=warning',
      '--entry-names=[name]-[hash]',
      '--chunk-names=c-[hash]',
      `--outdir=${folder}`,
      `--metafile=${metafile}`,
    ],
    { cwd: ROOT },
  );
  return (JSON.parse(await readFile(metafile, 'utf8')) as Metafile).outputs;
}

type Outputs = Metafile['outputs'];

function outputOf(outputs: Outputs, entryPoint: string): string {
  const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entryPoint);
  if (found === undefined) throw new Error(`esbuild has made no file of ${entryPoint}.`);
  return found[0];
}

/** A script and everything that it imports statically, directly or not. */
function closureOf(outputs: Outputs, first: string): readonly string[] {
  const found = [first];
  // The list grows while it is walked.
  for (const path of found) {
    for (const each of outputs[path]?.imports ?? []) {
      if (each.kind === 'import-statement' && !found.includes(each.path)) found.push(each.path);
    }
  }
  return found;
}
