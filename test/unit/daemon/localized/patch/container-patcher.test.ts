import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type {
  ContainerPatcher,
  PatchJob,
} from '../../../../../src/daemon/localized/patch/container-patcher.ts';
import { createContainerPatcher } from '../../../../../src/daemon/localized/patch/create-container-patcher.ts';
import { systemClock, type Clock } from '../../../../../src/platform/process/clock.ts';
import { loadedRules } from '../../../../support/parse-bytes.ts';
import { editLines, editOf } from '../../../../support/frozen-edits.ts';
import { unitsOf } from '../../../../support/patch-bytes.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

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
