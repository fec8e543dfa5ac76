import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { glossaryIn, openMainGlossary } from '../../src/localization/glossary/store/glossary-database.ts';
import { addTerm } from '../../src/localization/glossary/store/glossary-writer.ts';
import { processFigures } from '../support/process-figures.ts';
import { writeTextRelease } from '../support/text-release.ts';
import { until } from '../support/until.ts';
import { askSite } from './ask-site.ts';
import { benchRow, type BenchOptions, type BenchRow, type Bound } from './bench-row.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { startIdleProcess } from './idle-process.ts';
import { hanOf, writePrepared } from './prepared-translations.ts';
import { runAction } from './run-task.ts';

const MIB = 2 ** 20;
const TERMS = 5000;
const SOURCE = { kind: 'manual', observedAt: 1, ref: null, author: null, note: null } as const;
const LONGEST_RUN_MS = 900_000;
const CONCURRENCY = 4;

/** The figures of one run of workers. */
interface Run {
  readonly unitsPerSecond: number;
  readonly stallSeconds: number;
  readonly idleSeconds: number;
  readonly bytes: number;
}

/**
 * A run of workers with prepared translations in a real daemon: each unit is looked up in the Translation Memory, judged with a
 * Glossary of 5,000 terms, stored with its history, and offered to the memory.
 */
export async function run({ quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const directory = join(workDirectory, 'translate');
  const files = join(directory, 'files');
  const { units } = await writeTextRelease(files, {
    containers: quick ? 16 : 400,
    units: quick ? 2000 : 100_000,
  });
  const site = await startSlipwaySite(join(directory, 'slipway'), files);
  try {
    const data = join(directory, 'slipway', 'data');
    await untilBuilt(site, units);
    await writeGlossary(join(data, 'glossary'));
    await writePrepared(site, join(data, 'fixtures'));
    const measured = await measure(site, units);
    return rowsOf(measured, units, quick);
  } finally {
    await site.stop();
  }
}

function rowsOf(
  { unitsPerSecond, stallSeconds, idleSeconds, bytes }: Run,
  units: number,
  quick: boolean,
): BenchRow[] {
  const row = (name: string, value: number, unit: string, limit: Bound, note: string): BenchRow =>
    benchRow({ name: `translate: ${name}`, rounds: [value], unit, bound: limit, judged: !quick, note });
  const milliseconds = (seconds: number): string => `${(seconds * 1000).toFixed(0)} ms`;
  return [
    row(
      'worker with prepared translations, checks and Glossary',
      unitsPerSecond,
      'units/s',
      { atLeast: 5000 },
      `${units} units, ${TERMS} terms, ${CONCURRENCY} workers; stored with history, and offered to the Translation Memory`,
    ),
    row(
      "longest stall of the daemon's event loop, beyond that of an idle process",
      Math.max(0, stallSeconds - idleSeconds) * 1000,
      'ms',
      { atMost: 50 },
      `${milliseconds(stallSeconds)} against ${milliseconds(idleSeconds)}; the timers have a resolution of 10 ms`,
    ),
    row('memory of the daemon', bytes / MIB, 'MiB RSS', { atMost: 350 }, 'at the end of the run'),
  ];
}

async function measure(site: SlipwaySite, units: number): Promise<Run> {
  const idle = await startIdleProcess();
  await site.daemonMetric('nodejs_eventloop_lag_max_seconds');
  const begin = performance.now();
  const result = await runAction<{ units: Record<string, number> }>(site, 'translation-worker-run', {
    provider: 'fixture',
    fixture_path: 'bench.jsonl',
    glossary_path: 'bench.db',
    concurrency: CONCURRENCY,
    max_tasks: 1_000_000,
  });
  const seconds = (performance.now() - begin) / 1000;
  const stored = (result.units['translated'] ?? 0) + (result.units['propagated'] ?? 0);
  if (stored !== units) throw new Error(`not every unit was stored as a draft: ${JSON.stringify(result)}`);
  return {
    unitsPerSecond: units / seconds,
    stallSeconds: await site.daemonMetric('nodejs_eventloop_lag_max_seconds'),
    idleSeconds: await idle.stop(),
    bytes: (await processFigures(site.daemonPid)).residentBytes,
  };
}

async function untilBuilt(site: SlipwaySite, units: number): Promise<void> {
  await until(async () => {
    const { total, items } = (await askSite(site, 'reports/translation.tasks?limit=1000')) as {
      total: number;
      items: { unit_counts: Record<string, number> }[];
    };
    const open = items.reduce((sum, { unit_counts: counts }) => sum + (counts['untranslated'] ?? 0), 0);
    return total > 0 && (open === units || total > items.length);
  }, LONGEST_RUN_MS);
}

/** Terms that occur in the texts, and many more that do not. */
async function writeGlossary(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const database = openMainGlossary(join(folder, 'bench.db'));
  const glossary = glossaryIn(database);
  const common = ['学校', '友達', '先生', '先輩', '夜明け'];
  for (let at = 0; at < TERMS; at += 1) {
    const known = common[at];
    addTerm(glossary, {
      termId: `gt_${at}`,
      status: 'approved',
      now: 1,
      audit: { reviewer: 'bench', reason: null, tokenId: null },
      fields: {
        sourceTerm: known ?? `用語${at.toString(36)}番`,
        recommendedTranslation: known === undefined ? `术语${at}` : hanOf(known),
        sourceLanguage: 'ja',
        targetLanguage: 'zh-Hans',
        aliases: [],
        allowedTranslations: [],
        category: '',
        priority: 0,
        scope: {},
        source: SOURCE,
      },
    });
  }
  database.close();
}
