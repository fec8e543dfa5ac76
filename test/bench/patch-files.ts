import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createContainerPatcher } from '../../src/localization/localized/patch/container-patcher.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { editLines, editOf } from '../support/frozen-edits.ts';
import { loadedRules, parseBytes } from '../support/parse-bytes.ts';
import { ownProcessorSeconds } from './processor-time.ts';
import { targetOf } from './translate-files.ts';

/** The work of building some files, and no other work. */
export interface Building {
  /** Elapsed time, with the start of the process. */
  readonly seconds: number;
  /** Of this process and of the one that patches. */
  readonly processorSeconds: number;
}

/** Prepares the building of files with a translation of every text; each run builds all of them. */
export async function prepareBuilding(
  directory: string,
  { files, workDirectory }: { readonly files: readonly string[]; readonly workDirectory: string },
): Promise<(edition: number) => Promise<Building>> {
  const containers = await Promise.all(
    files.map(async (destination, number) => {
      const path = join(directory, destination);
      const { units } = await parseBytes(destination, await readFile(path));
      return { destination, path, units, editsPath: join(workDirectory, `${number}.jsonl`) };
    }),
  );
  return async (edition) => {
    await rm(workDirectory, { recursive: true, force: true });
    await mkdir(workDirectory, { recursive: true });
    for (const { units, editsPath } of containers) {
      await writeFile(
        editsPath,
        editLines(units.map((unit) => editOf(unit, targetOf(unit.sourceText, edition)))),
      );
    }
    const begin = performance.now();
    const before = ownProcessorSeconds();
    const patcher = createContainerPatcher({
      rules: loadedRules(),
      processes: 1,
      scratchDirectory: workDirectory,
      memoryBytes: 512 * 2 ** 20,
      timeoutMs: 600_000,
      clock: systemClock,
    });
    for (const { destination, path, editsPath } of containers) {
      const outputPath = `${editsPath}.patched`;
      const outcome = await patcher.patch(
        { destination, path, editsPath, outputPath },
        new AbortController().signal,
      );
      if (outcome.kind === 'failed') throw new Error(`${destination}: ${outcome.message}`);
      await makeDurable(outputPath);
    }
    const processorSeconds = ownProcessorSeconds() - before;
    const seconds = (performance.now() - begin) / 1000;
    patcher.close();
    return { seconds, processorSeconds };
  };
}

/** A publish makes its objects durable, too. */
async function makeDurable(path: string): Promise<void> {
  const file = await open(path);
  await file.datasync();
  await file.close();
}
