import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoContainers } from '../../demo/game/demo-containers.ts';
import { demoParseSection } from '../../demo/game/demo-parse-section.ts';
import { DEMO_RELEASE_IDS } from '../../demo/game/demo-story.ts';
import { flatBuffersTableSchema } from '../../demo/game/flatbuffers-table.ts';
import { createContainerPatcher } from '../../src/localization/localized/patch/container-patcher.ts';
import type { ParsedUnit } from '../../src/localization/parse/container/parsed-container.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { editLines, editOf } from '../support/frozen-edits.ts';
import { loadedRules, parseBytes } from '../support/parse-bytes.ts';
import { expectPatchedObjects, type PeerBundle, type PeerEdit } from '../support/peer-fields.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const UNITY = resolve(import.meta.dirname, '../support/read-unity-bundles.py');
const unityPython = pythonProgram('unity-tools', null);
const NEVER = new AbortController().signal;
const RULES = {
  configuration: demoParseSection('/schema'),
  files: new Map([['/schema', flatBuffersTableSchema()]]),
};

/** A container of the demo release, and its patched form. */
interface Patched {
  readonly destination: string;
  readonly official: string;
  readonly patched: string;
  readonly units: readonly ParsedUnit[];
}

/** A target that tells which unit it is from, and that every format can hold. */
const targetOf = ({ sourceText }: ParsedUnit, number: number): string =>
  `${'t'.repeat(number % 40)}${number} \u202Eمرحبا\u202C 😀 ${sourceText.length}`;

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr}${stdout}`);
  return stdout;
}

let directory = '';
let all: readonly Patched[] = [];

/** Patches every text of every container of the second demo release, each in a child process with its self-check. */
beforeAll(async () => {
  directory = await temporaryDirectory(afterAll);
  const patcher = createContainerPatcher({
    rules: loadedRules(RULES),
    processes: 2,
    scratchDirectory: join(directory, 'scratch'),
    memoryBytes: 1024 ** 3,
    timeoutMs: 60_000,
    clock: systemClock,
  });
  try {
    all = await Promise.all(
      demoContainers(DEMO_RELEASE_IDS[1]).map(async ({ destination, write }) => {
        const at = (kind: string): string => join(directory, kind, destination);
        const [path, editsPath, outputPath] = [at('official'), at('edits'), at('patched')] as const;
        for (const each of [path, editsPath, outputPath]) await mkdir(dirname(each), { recursive: true });
        await write(path);
        const scratchDirectory = join(directory, 'parse');
        const { units } = await parseBytes(destination, await readFile(path), { ...RULES, scratchDirectory });
        const edits = units.map((unit, number) => editOf(unit, targetOf(unit, number)));
        await writeFile(editsPath, editLines(edits));
        const result = await patcher.patch({ destination, path, editsPath, outputPath }, NEVER);
        expect(result).toMatchObject({ kind: 'patched', checked: { editedUnits: units.length } });
        return { destination, official: path, patched: outputPath, units };
      }),
    );
  } finally {
    patcher.close();
  }
});

const withExtension = (extension: string): readonly Patched[] =>
  all.filter(({ destination }) => destination.endsWith(extension));

describe('every file of the demo release', () => {
  it('is patched, and has texts in each of its formats', () => {
    const formats = new Set(all.flatMap(({ units }) => units.map(({ format }) => format)));
    expect([...formats].toSorted()).toEqual(
      expect.arrayContaining(['csv', 'flatbuffers', 'json', 'sqlite', 'unity.monobehaviour']),
    );
    expect(all.reduce((sum, { units }) => sum + units.length, 0)).toBeGreaterThan(500);
  });

  it.runIf(hasTool('unzip'))('passes the test of unzip, also where a bundle is inside', () => {
    const archives = withExtension('.zip');
    expect(archives.length).toBeGreaterThan(0);
    for (const { patched } of archives) expect(run('unzip', '-t', patched)).toContain('No errors detected');
  });

  it.runIf(hasTool('python3'))('has the targets in its JSON and CSV as Python reads them', () => {
    const script = `import csv, json, sys
def texts(value):
    if isinstance(value, str): yield value
    elif isinstance(value, dict):
        for each in value.values(): yield from texts(each)
    elif isinstance(value, list):
        for each in value: yield from texts(each)
for path in sys.argv[1:]:
    file = open(path, encoding='utf-8-sig', newline='')
    if path.endswith('.csv'): found = [cell for row in csv.reader(file) for cell in row]
    else: found = list(texts(json.load(file)))
    print(json.dumps(found))`;
    const files = [...withExtension('.json'), ...withExtension('.csv')];
    const lines = run('python3', '-c', script, ...files.map(({ patched }) => patched))
      .trim()
      .split('\n');
    for (const [number, { units }] of files.entries()) {
      const found = new Set(JSON.parse(lines[number] ?? '[]') as string[]);
      expect(units.map(targetOf).filter((target) => !found.has(target))).toEqual([]);
    }
  });

  it.runIf(hasTool('sqlite3'))('passes the integrity check of sqlite3, and has the targets', () => {
    for (const { patched, units } of withExtension('.db')) {
      expect(run('sqlite3', patched, 'PRAGMA integrity_check').trim()).toBe('ok');
      const dump = run('sqlite3', patched, '.dump');
      expect(units.map(targetOf).filter((target) => !dump.includes(target))).toEqual([]);
    }
  });

  it.runIf(hasTool('flatc', 'flatbuffers-compiler'))('is read by flatc with the targets', async () => {
    const schema = join(directory, 'schema.bfbs');
    await writeFile(schema, flatBuffersTableSchema());
    for (const { patched, units } of withExtension('DialogTable.bytes')) {
      run('flatc', '--json', '--strict-json', '--raw-binary', '-o', directory, schema, '--', patched);
      const json = await readFile(join(directory, 'DialogTable.json'), 'utf8');
      const found = new Set((JSON.parse(json) as { rows: { text: string }[] }).rows.map(({ text }) => text));
      expect(units.map(targetOf).filter((target) => !found.has(target))).toEqual([]);
    }
  });

  it.runIf(unityPython !== null && hasTool('unzip'))(
    'is opened by UnityPy with the targets at their places, and nothing else changed',
    () => {
      const inner = withExtension('Excel00.zip').map(({ official, patched, units }) => {
        const bundles = [official, patched].map((path, side) => {
          const folder = join(directory, `inner-${side}`);
          run('unzip', '-q', '-o', path, 'bundles/*', '-d', folder);
          return join(folder, run('sh', '-c', `cd '${folder}' && ls -d bundles/*`).trim());
        });
        return { bundles, edits: editsIn(units, (entry) => entry?.startsWith('bundles/') === true) };
      });
      const outer = withExtension('.bundle').map(({ official, patched, units }) => ({
        bundles: [official, patched],
        edits: editsIn(units, () => true),
      }));
      expect(outer.length * inner.length).toBeGreaterThan(0);
      const pairs = [...inner, ...outer];
      const values = run(unityPython ?? '', UNITY, 'values', ...pairs.flatMap(({ bundles }) => bundles))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as PeerBundle);
      for (const [number, { edits }] of pairs.entries()) {
        expectPatchedObjects({ before: values[2 * number], after: values[2 * number + 1] }, edits);
      }
    },
  );
});

/** The edits of some units of a container by the ids of their objects. */
function editsIn(
  units: readonly ParsedUnit[],
  isIn: (entry: string | null) => boolean,
): ReadonlyMap<string, readonly PeerEdit[]> {
  const edits = units.map((unit, number) => editOf(unit, targetOf(unit, number)));
  return Map.groupBy(
    edits.filter(({ archiveEntry }) => isIn(archiveEntry)),
    ({ pathId }) => String(pathId),
  );
}
