/**
 * Deletes what no program loads, in the folder of an image build: files of packages that no import of a program reaches, and the
 * sources of the console, which is built by then. What stays: what esbuild finds when it follows every import of
 * every program, native modules with it; every package.json that Node asks on the way; the licences of these packages.
 *
 *   node scripts/prune-packages.ts
 *
 * Only for an image build: a checkout needs the types and the tests of its packages.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { findTools } from './console/bundle.ts';
import { ROOT } from './console/console-inputs.ts';

const PACKAGES = 'node_modules/';
const LOCK = 'node_modules/.package-lock.json';
const LICENCE = /^(?:(?:un)?licen[cs]e|copying|notice)/i;
/** In a module in the UMD form, whose imports esbuild does not see. All scripts of its folder stay. */
const HANDS_REQUIRE_ON = /[(,]\s*require\s*[,)]/;
/** Everything that the image holds: programs, and what they start in threads and processes. */
const PROGRAMS = ['cmd/**/*.ts', 'src/**/*.ts', 'demo/**/*.ts'];
/** As Node looks modules up: its conditions, no links, and TypeScript that keeps its imports. */
const AS_NODE = [
  '--platform=node',
  '--format=esm',
  '--conditions=node-addons,module-sync',
  '--preserve-symlinks',
  '--loader:.node=empty',
  '--tsconfig-raw={"compilerOptions":{"verbatimModuleSyntax":true}}',
];

/** The files of packages that the imports of the programs reach, relative to the root. */
async function loadedFiles(): Promise<readonly string[]> {
  const esbuild = join(await findTools(), 'esbuild/bin/esbuild');
  const metafile = join(ROOT, '.imports.json');
  const programs = globSync(PROGRAMS, { cwd: ROOT, exclude: ['src/console/**'] });
  const run = spawnSync(
    process.execPath,
    [esbuild, '--bundle', ...AS_NODE, '--log-level=error', `--metafile=${metafile}`, '--outfile=/dev/null'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      input: programs.map((path) => `import ${JSON.stringify(`./${path}`)};`).join('\n'),
    },
  );
  if (run.status !== 0) throw new Error(`esbuild cannot follow the imports:\n${run.stderr}`);
  const { inputs } = JSON.parse(readFileSync(metafile, 'utf8')) as {
    inputs: Readonly<Record<string, unknown>>;
  };
  rmSync(metafile);
  const found = Object.keys(inputs).filter((path) => path.startsWith(PACKAGES));
  const hidden = found
    .filter((path) => HANDS_REQUIRE_ON.test(readFileSync(join(ROOT, path), 'utf8')))
    .flatMap((path) => globSync(`${dirname(path)}/**/*.js`, { cwd: ROOT }));
  return [...new Set([...found, ...hidden])];
}

/** The folder of the package that has a file. */
function packageOf(path: string): string {
  const from = path.lastIndexOf(PACKAGES) + PACKAGES.length;
  const names = path.slice(from).split('/');
  return path.slice(0, from) + names.slice(0, names[0]?.startsWith('@') === true ? 2 : 1).join('/');
}

/** Every package.json from the folder of a file up to its package: the nearest one says whether it is a module. */
function descriptionsOf(path: string): readonly string[] {
  const found = [];
  for (let folder = dirname(path); folder.length >= packageOf(path).length; folder = dirname(folder)) {
    found.push(`${folder}/package.json`);
  }
  return found.filter((file) => existsSync(join(ROOT, file)));
}

const loaded = await loadedFiles();
const packages = new Set(loaded.map(packageOf));
const licences = [...packages].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => LICENCE.test(name))
    .map((name) => `${folder}/${name}`),
);
const kept = new Set([...loaded, ...loaded.flatMap(descriptionsOf), ...licences]);
for (const path of kept) cpSync(join(ROOT, path), join(ROOT, '.kept', path), { recursive: true });
// Scanners, and the bill of materials, are to find the packages that are there, and no others.
const lock = JSON.parse(readFileSync(join(ROOT, LOCK), 'utf8')) as {
  packages: Readonly<Record<string, object>>;
};
const there = Object.entries(lock.packages).filter(([path]) => packages.has(path));
const pruned = { ...lock, packages: Object.fromEntries(there) };
writeFileSync(join(ROOT, '.kept', LOCK), JSON.stringify(pruned, null, 2));
for (const folder of [PACKAGES, 'src/console']) rmSync(join(ROOT, folder), { recursive: true });
renameSync(join(ROOT, '.kept', PACKAGES), join(ROOT, PACKAGES));
console.log(
  `${kept.size} files of ${there.length} packages are kept, of ${Object.keys(lock.packages).length} packages`,
);
