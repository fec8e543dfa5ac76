import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { PARSE_ERROR_CODES } from '../../../../../src/contract/reports/parse-error-codes.ts';
import type { ParsedUnit } from '../../../../../src/daemon/parse/container/parsed-container.ts';
import { createParseWorker } from '../../../../../src/daemon/parse/process/parse-worker.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { HOSTILE_RULES, hostileContainers } from '../../../../support/hostile-containers.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import { childrenOf } from '../../../../support/process-figures.ts';
import { loadedRules } from '../../../../support/parse-bytes.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? '14');
const MUTATIONS = campaignSize(2000, 40_000);
const MEMORY_BYTES = 384 * 1024 * 1024;
/** Far above what any of these small containers needs, even on a busy machine. */
const DEADLINE_MS = 20_000;
const NEVER = new AbortController().signal;

/** The processes that this one started, and the most resident memory that each had, in bytes. */
async function childProcesses(): Promise<ReadonlyMap<number, number>> {
  const children = await childrenOf('self');
  const peaks = children.map(async (pid): Promise<[number, number]> => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return [pid, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024];
  });
  return new Map(await Promise.all(peaks));
}

it('a damaged container is parsed, partial, unsupported or failed, and its process stays within its bounds', async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'container');
  const containers = await hostileContainers(directory);
  const worker = createParseWorker({
    rules: loadedRules(HOSTILE_RULES),
    scratchDirectory: directory,
    memoryBytes: MEMORY_BYTES,
    timeoutMs: DEADLINE_MS,
    clock: systemClock,
  });
  onTestFinished(() => {
    worker.close();
  });
  const counts = new Map<string, number>();
  let ours: ReadonlyMap<number, number> | null = null;
  for (const [number, { destination, bytes, wrap }] of containers.entries()) {
    const count = Math.ceil(MUTATIONS / containers.length);
    let isDamaged = false;
    for (const part of [bytes, ...mutations(bytes, { seed: SEED + number, count })]) {
      const content = await wrap(part);
      await writeFile(path, content);
      let units = 0;
      const onUnits = (batch: readonly ParsedUnit[]): void => void (units += batch.length);
      const job = { path, destination, destinationKey: destination };
      const outcome = await worker.parse(job, onUnits, NEVER);
      const codes = outcome.issues.map(({ code }) => code);
      const what = `${destination} ${content.toString('base64')}`;
      expect(['parsed', 'partial', 'unsupported', 'failed'], what).toContain(outcome.status);
      for (const code of codes) {
        expect(Object.keys(PARSE_ERROR_CODES), what).toContain(code);
        expect(
          ['process_failed', 'deadline_exceeded', 'file_unreadable'],
          `${outcome.issues[0]?.message} ${what}`,
        ).not.toContain(code);
      }
      if (outcome.status === 'failed') expect(codes, what).not.toEqual([]);
      if (!isDamaged) {
        expect(units, destination).toBeGreaterThan(0);
        isDamaged = true;
        ours ??= await childProcesses();
      }
      counts.set(outcome.status, (counts.get(outcome.status) ?? 0) + 1);
      for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
    }
  }
  // One process has parsed all of them.
  const children = await childProcesses();
  expect([...children.keys()]).toEqual([...(ours?.keys() ?? [])]);
  expect(Math.max(...children.values())).toBeLessThan(MEMORY_BYTES);
  expect(counts.get('memory_exceeded')).toBe(undefined);
  // Each kind of outcome occurs often, or the mutations would prove nothing.
  for (const status of ['parsed', 'partial', 'failed']) {
    expect(counts.get(status), status).toBeGreaterThan(MUTATIONS / 20);
  }
});
