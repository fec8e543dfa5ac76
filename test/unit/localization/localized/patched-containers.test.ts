import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { writeBundle } from '../../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../../demo/game/unity/write-serialized-file.ts';
import { createRandom } from '../../../../demo/game/seeded-random.ts';
import { PATCHER_VERSION } from '../../../../src/localization/localized/freeze/edit-spool.ts';
import type { PatchJob } from '../../../../src/localization/localized/patch/patch-file.ts';
import {
  createContainerPatcher,
  type ContainerPatcher,
} from '../../../../src/localization/localized/patch/container-patcher.ts';
import {
  patchContainer,
  type PatchContainer,
} from '../../../../src/localization/localized/patch/write/patch-container.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { systemClock, type Clock } from '../../../../src/platform/process/clock.ts';
import { editLines, editOf } from '../../../support/frozen-edits.ts';
import { HOSTILE_RULES, hostileContainers } from '../../../support/hostile-containers.ts';
import { mutations } from '../../../support/mutate.ts';
import { loadedRules } from '../../../support/parse-bytes.ts';
import { patchBytes, placesOf, randomUnitEdits, unitsOf } from '../../../support/patch-bytes.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { sampleTextAsset } from '../../../support/unity-samples.ts';
import { zipOf } from '../../../support/zip-of.ts';

/** A process that leaves half a file, and then does what the name of the container says. */
const PROGRAM = `
const { writeFileSync } = process.getBuiltinModule('node:fs');
const waste = [];
process.on('message', ({ kind, job }) => {
  if (kind !== 'job') return;
  writeFileSync(job.outputPath, 'half');
  if (job.destination === 'hang') for (;;);
  if (job.destination === 'crash') process.kill(process.pid, 'SIGSEGV');
  if (job.destination === 'waste') for (;;) waste.push(Buffer.alloc(16 * 1024 * 1024, 1));
  if (job.destination === 'wait') process.send({ kind: 'piece', piece: 0 });
});
process.on('disconnect', () => process.exit(0));
`;

const NEVER = new AbortController().signal;
const TIMEOUT_MS = 60_000;

interface World {
  readonly patcher: ContainerPatcher;
  readonly job: PatchJob;
}

async function world(
  destination: string,
  limits: { memoryBytes?: number; program?: string; clock?: Clock } = {},
): Promise<World> {
  const directory = await temporaryDirectory();
  const content = Buffer.from('{"a":"はい","b":"いいえ"}');
  const [path, editsPath, program] = ['official', 'edits', 'program.mjs'].map((name) =>
    join(directory, name),
  ) as [string, string, string];
  await writeFile(path, content);
  const [unit] = await unitsOf('a.json', content);
  if (unit === undefined) throw new Error('there is a unit');
  await writeFile(editsPath, editLines([editOf(unit, 'yes')]));
  if (limits.program !== undefined) await writeFile(program, limits.program);
  const patcher = createContainerPatcher({
    rules: loadedRules(),
    processes: 1,
    scratchDirectory: join(directory, 'scratch'),
    memoryBytes: limits.memoryBytes ?? 512 * 1024 * 1024,
    timeoutMs: TIMEOUT_MS,
    clock: limits.clock ?? systemClock,
    ...(limits.program === undefined ? {} : { program: pathToFileURL(program) }),
  });
  onTestFinished(() => {
    patcher.close();
  });
  return { patcher, job: { destination, path, editsPath, outputPath: join(directory, 'patched') } };
}

describe('the patcher of containers', () => {
  it('patches and checks a container in a process of its own', async () => {
    const { patcher, job } = await world('a.json');
    expect(await patcher.patch(job, NEVER)).toEqual({
      kind: 'patched',
      size: 27,
      checked: { editedUnits: 1, otherUnits: 1, untouchedParts: 0 },
    });
    expect(await readFile(job.outputPath, 'utf8')).toBe('{"a":"yes","b":"いいえ"}');
  });

  it.each([
    ['hang', {}, 'deadline_exceeded'],
    ['crash', {}, 'process_failed'],
    ['waste', { memoryBytes: 256 * 1024 * 1024 }, 'memory_exceeded'],
  ] as const)(
    'leaves nothing of a process that ends by %s, and patches the next container',
    async (how, limits, code) => {
      // The time of the process that hangs is over as soon as it has begun to write, however slowly it starts.
      let hanging: string | null = null;
      const isOver = (): boolean => hanging !== null && existsSync(hanging);
      const clock = {
        ...systemClock,
        monotonic: () => systemClock.monotonic() + (isOver() ? TIMEOUT_MS : 0),
      };
      const { patcher, job } = await world(how, { ...limits, program: PROGRAM, clock });
      if (how === 'hang') hanging = job.outputPath;
      expect(await patcher.patch(job, NEVER)).toMatchObject({ kind: 'failed', code, archiveEntry: null });
      expect(existsSync(job.outputPath)).toBe(false);
      hanging = null;
      expect(await patcher.patch({ ...job, destination: 'crash' }, NEVER)).toMatchObject({
        code: 'process_failed',
      });
    },
  );

  it('ends the process of a cancelled container, and leaves nothing', async () => {
    const { patcher, job } = await world('wait', { program: PROGRAM });
    const cancelling = new AbortController();
    const patching = patcher.patch(job, cancelling.signal);
    cancelling.abort(new Error('cancelled'));
    await expect(patching).rejects.toThrow('cancelled');
    expect(existsSync(job.outputPath)).toBe(false);
  });

  it('says that the new file cannot be written, and does not blame the container', async () => {
    const { patcher, job } = await world('a.json');
    const outputPath = join(job.outputPath, 'missing', 'patched');
    await expect(patcher.patch({ ...job, outputPath }, NEVER)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('fails for an official object that is gone or replaced by a link', async () => {
    const { patcher, job } = await world('a.json');
    const gone = await patcher.patch({ ...job, path: `${job.path}-gone` }, NEVER);
    expect(gone).toMatchObject({ kind: 'failed', code: 'file_unreadable' });
  });
});

/** More texts than one side of the comparison may be ahead of the other. */
const TEXTS = 3000;
const LINES = Array.from({ length: TEXTS }, (_, number) => `${number}行目`);
const CONTENT = Buffer.from(JSON.stringify(LINES));

/** A writer that leaves out the last texts, or adds some. */
const resized = (length: number): PatchContainer =>
  function* patch(run, part, tree) {
    const texts = JSON.parse(Buffer.concat([...patchContainer(run, part, tree)]).toString()) as string[];
    yield Buffer.from(JSON.stringify(Array.from({ length }, (_, number) => texts[number] ?? 'も')));
  };

describe('a container with many texts', () => {
  it('is patched with edits that take several reads, one of them longer than a read', async () => {
    const units = await unitsOf('a.json', CONTENT);
    const edits = units.map((unit, number) => editOf(unit, `は${'x'.repeat(number === 7 ? 600_000 : 150)}`));
    const { result, bytes } = await patchBytes('a.json', CONTENT, edits);
    expect(result).toMatchObject({ kind: 'patched', checked: { editedUnits: TEXTS, otherUnits: 0 } });
    expect(JSON.parse(String(bytes))).toEqual(edits.map(({ target }) => target));
  });

  it('gets edits in any order', async () => {
    const units = await unitsOf('a.json', CONTENT);
    const edits = units.map((unit, number) => editOf(unit, `は${number}`));
    const { bytes } = await patchBytes('a.json', CONTENT, edits);
    const turned = await patchBytes('a.json', CONTENT, edits.toReversed());
    expect(turned.result).toMatchObject({ kind: 'patched', checked: { editedUnits: TEXTS } });
    expect(turned.bytes?.equals(bytes ?? Buffer.alloc(0))).toBe(true);
  });

  it.each([
    [1, '/1', 'not found at its place'],
    [TEXTS - 1, `/${TEXTS - 1}`, 'not found at its place'],
    [TEXTS + 1, `/${TEXTS}`, 'a text more'],
    [3 * TEXTS, `/${TEXTS}`, 'a text more'],
  ])('fails its self-check with %i texts', async (length, fieldPath, message) => {
    const [first] = await unitsOf('a.json', CONTENT);
    if (first === undefined) throw new Error('the container has a unit');
    const patch = resized(length);
    const { result } = await patchBytes('a.json', CONTENT, [editOf(first, 'は')], { patch });
    expect(result).toMatchObject({
      code: 'patch_selfcheck_failed',
      fieldPath,
      message: expect.stringContaining(message) as string,
    });
  });

  it('has edits before, inside of and behind a file in a field', async () => {
    const inner = await zipOf({ 'a.json': Buffer.from('["いち","に"]'), 'b.json': Buffer.from('["さん"]') });
    const objects = [
      sampleTextAsset(1n, 'あ', 'はい'),
      sampleTextAsset(2n, 'い', inner),
      sampleTextAsset(3n, 'う', 'いいえ'),
    ];
    const content = writeBundle([{ name: 'CAB-1', bytes: writeSerializedFile({ version: 22, objects }) }]);
    const units = await unitsOf('a.bundle', content);
    const edits = units.map((unit, number) => editOf(unit, `も${number}`));
    expect(units.some(({ archiveEntry }) => archiveEntry?.endsWith('a.json') === true)).toBe(true);
    const { result, bytes } = await patchBytes('a.bundle', content, edits);
    expect(result).toMatchObject({ kind: 'patched', checked: { editedUnits: units.length } });
    expect(placesOf(await unitsOf('a.bundle', bytes ?? Buffer.alloc(0)))).toEqual(placesOf(units, edits));
  });
});

const ROUNDS = 6;
const DAMAGED = 12;

describe('patching a container', async () => {
  const containers = await hostileContainers(await temporaryDirectory(afterAll));
  const cases = containers.map((container, number) => [container.destination, number, container] as const);

  it.each(cases)(
    'writes random edits of %s (%i), and everything reads back',
    async (destination, number, { bytes, wrap }) => {
      const content = await wrap(bytes);
      const units = await unitsOf(destination, content, HOSTILE_RULES);
      expect(units.length).toBeGreaterThan(0);
      for (let seed = 1; seed <= ROUNDS; seed += 1) {
        const edits = randomUnitEdits(units, 100 * number + seed);
        const { result, bytes: patched } = await patchBytes(destination, content, edits, HOSTILE_RULES);
        expect(result).toMatchObject({
          kind: 'patched',
          size: patched?.length,
          checked: { editedUnits: edits.length },
        });
        const found = await unitsOf(destination, patched ?? Buffer.alloc(0), HOSTILE_RULES);
        expect(placesOf(found)).toEqual(placesOf(units, edits));
        const again = await patchBytes(destination, content, edits, HOSTILE_RULES);
        expect(again.bytes?.equals(patched ?? Buffer.alloc(0))).toBe(true);
      }
    },
  );

  it.each(cases)(
    'refuses a damaged %s (%i), or writes it right',
    async (destination, number, { bytes, wrap }) => {
      const random = createRandom(number);
      for (const damaged of mutations(bytes, { seed: number, count: DAMAGED })) {
        const content = await wrap(damaged);
        const units = await unitsOf(destination, content, HOSTILE_RULES);
        const edits = randomUnitEdits(units, random.below(1000));
        if (edits.length === 0) continue;
        const { result, bytes: patched } = await patchBytes(destination, content, edits, HOSTILE_RULES);
        if (result.kind === 'patched') {
          const found = await unitsOf(destination, patched ?? Buffer.alloc(0), HOSTILE_RULES);
          expect(placesOf(found)).toEqual(placesOf(units, edits));
        } else {
          expect(result).toMatchObject({ kind: 'failed', message: expect.stringMatching(/./) });
          expect(patched).toBeNull();
        }
      }
    },
  );
});

/**
 * The beginnings of the digests of containers before and after the same edits. When the second one of a line changes, raise
 * PATCHER_VERSION, or else containers that were patched before stay in use beside those of the new writer; then write the new
 * digests here under the new version.
 */
const PINNED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '1': {
    '0 a.json': '68e0bcd631c50c3f -> 04e38249aaf6cef7',
    '1 a.csv': '3a5ae002a8ff09b2 -> 568315a99103af35',
    '2 a.tsv': '7142a7fe256cad9a -> b8ef9a16d6322149',
    '3 a.txt': '41f196ad057fdf1e -> 347972847cf21eb1',
    '4 a.bin': '8863e698a2479d83 -> 459e6a9638e1d808',
    '5 a.db': '8eb23a6922a2faba -> c87ee4bfefd6b648',
    '6 a.zip': '0860df63a0b22444 -> 98c1613a71adb646',
    '7 crypt.zip': '3a10c0198724499b -> c3769590d9cef3bc',
    '8 a.assets': '6ed9ce07795a097e -> 61bfe5ec75075d6d',
    '9 old.assets': '1c8935aea9362a4d -> 583d612b7ab7120b',
    '10 stripped.assets': '5e100996b64abeb4 -> 6a95c4ff6e6bc313',
    '11 plain.bundle': '2e1359873581f6c8 -> db2d04aec9fb39d4',
    '12 lz4.bundle': 'a75b5200c939e2b7 -> d6432f7587505a50',
    '13 lzma.bundle': '0d19a69afef156d2 -> 59a6b6a9157befc6',
    '14 a.zip': 'd6c31a2fad4ac14c -> b62369aabd594a96',
    '15 tables.zip': '41f05c82be62e312 -> 20bb39ba87237dee',
    '16 a.bundle': '604b33992af1d4bb -> f10d1e9e7a0f9602',
    '17 a.bundle': 'dd48c0c335077471 -> 41768d78acf3f169',
    '18 a.zip': 'b16de1c96e05c9d3 -> 506b28fb66e7821a',
    '19 a.zip': '39fb8089b259ea63 -> 908f143be4c8cd2f',
    '20 a.zip': '6840db65de9b44b0 -> 6bcad60f1a26cbf8',
    '21 a.bundle': '5e3eeb46a60e92fc -> 91221038440ce38e',
    '22 crypt.zip': '38a053cd9c227f82 -> bc717811185be4fc',
  },
};

describe('the version of the patcher', async () => {
  const containers = await hostileContainers(await temporaryDirectory(afterAll));

  it('stands for the bytes that the writers of all formats give', async () => {
    const found: Record<string, string> = {};
    for (const [number, { destination, bytes, wrap }] of containers.entries()) {
      const official = await wrap(bytes);
      const edits = randomUnitEdits(await unitsOf(destination, official, HOSTILE_RULES), number + 1);
      const { bytes: patched } = await patchBytes(destination, official, edits, HOSTILE_RULES);
      const digests = [official, patched ?? Buffer.alloc(0)].map((each) => blake3Hex(each).slice(0, 16));
      found[`${number} ${destination}`] = digests.join(' -> ');
    }
    expect(found).toEqual(PINNED[PATCHER_VERSION]);
  });
});
