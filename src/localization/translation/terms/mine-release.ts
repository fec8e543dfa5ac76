import { ServiceError } from '../../../contract/problems/service-error.ts';
import { foldedForm } from '../../../domain/glossary/folded-form.ts';
import { createTermMiner, type TermCandidate } from '../../../domain/glossary/mine-terms.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { countText } from '../../../domain/count-text.ts';
import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { implementJob, type ArgumentsOf, type Job } from '../../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { TermDrafts } from '../../glossary/term-drafts.ts';
import { FIRST_UNIT, type UnitPlace, type UnitsAfter } from '../../parse/index/read/units-after.ts';
import type { IndexedTexts } from '../../parse/parse.ts';
import { isOfProvider } from '../providers/provider-failure.ts';
import { addUsage, createSpending, fits, NO_USAGE } from '../providers/spending.ts';
import type { TermClass } from '../providers/term-classifier.ts';
import type { ProviderAccess } from '../worker/provider-access.ts';
import { reportedUsage, type ReportedUsage } from '../worker/run-tally.ts';
import { TERM_MINE_JOB } from './term-job.ts';

interface MiningPorts {
  readonly parse: IndexedTexts;
  readonly terms: TermDrafts;
  readonly providers: ProviderAccess;
  readonly languages: () => LanguagePair;
}

type MiningArguments = ArgumentsOf<typeof TERM_MINE_JOB>;

/** Bounds of one page of units: it passes through the event loop. */
const PAGE = { units: 500, characters: 256 * 1024 };
/** Terms that the result names. */
const NAMED_TERMS = 100;

/** The job that finds terms in the texts of the indexed release. */
export function termMining(ports: MiningPorts): Job {
  return implementJob(TERM_MINE_JOB, async (context) => {
    try {
      return await mineRelease(ports, context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const retryable = error.code === 'backend_unavailable';
      throw new TaskError(error.code, error.message, { retryable, cause: error });
    }
  });
}

async function mineRelease(
  { parse, terms, providers, languages }: MiningPorts,
  context: TaskContext<MiningArguments>,
): Promise<TaskResult> {
  const { args, signal } = context;
  const pair = languages();
  const classifier = await openClassifier(providers, args, signal);
  const known = await terms.knownForms(pair, signal);
  const { releaseId, texts, candidates: all } = await readCandidates(parse, pair, context);
  const candidates = all.filter(({ form }) => !known.has(foldedForm(form)));
  const chosen = candidates.slice(0, args.limit);
  const classified = await classifier(chosen, pair);
  const drafts = chosen.flatMap((candidate, at) => {
    const found = classified.classes.get(String(at)) ?? null;
    const isLeftOut = found === 'word' || classified.postponed.has(String(at));
    return isLeftOut ? [] : [{ candidate, category: categoryOf(candidate, found) }];
  });
  const isDryRun = args.dry_run ?? false;
  const { added, refused } = isDryRun
    ? { added: 0, refused: 0 }
    : await terms.add(
        drafts.map(({ candidate, category }) => ({
          form: candidate.form,
          category,
          note: noteOf(candidate),
        })),
        pair,
        { ref: `term-mine ${releaseId}`, reason: context.reason ?? `found in the texts of ${releaseId}` },
        signal,
      );
  return {
    release_id: releaseId,
    dry_run: isDryRun,
    texts,
    candidates: candidates.length,
    known: all.length - candidates.length,
    ordinary: chosen.length - drafts.length - classified.postponed.size,
    added,
    refused,
    ...(classified.usage === null
      ? {}
      : {
          usage: classified.usage,
          failures: classified.failures,
          ...(isDryRun ? { fits: classified.fits } : {}),
        }),
    terms: drafts.slice(0, NAMED_TERMS).map(({ candidate: { form, kind, count, contexts }, category }) => ({
      source_term: form,
      kind,
      category,
      count,
      contexts,
    })),
  };
}

interface ReadTexts {
  readonly releaseId: string;
  readonly texts: number;
  readonly candidates: readonly TermCandidate[];
}

/** Runs that begin again because the index changed meanwhile. */
const MAX_RESTARTS = 3;

/** Reads all texts of the release. @throws TaskError `text_not_indexed`; the errors of the index */
async function readCandidates(
  parse: IndexedTexts,
  pair: LanguagePair,
  context: TaskContext<MiningArguments>,
): Promise<ReadTexts> {
  for (let run = 0; run < MAX_RESTARTS; run += 1) {
    const read = await readOnce(parse, pair, context);
    if (read !== null) return read;
  }
  throw new TaskError(
    'text_not_indexed',
    `the index changed ${MAX_RESTARTS} times while its texts were read; start the job again when parsing has ended`,
  );
}

/** Reads the texts page by page. @returns `null` when the index moves on */
async function readOnce(
  parse: IndexedTexts,
  { sourceLanguage }: LanguagePair,
  context: TaskContext<MiningArguments>,
): Promise<ReadTexts | null> {
  const miner = createTermMiner(sourceLanguage);
  let first: UnitsAfter | null = null;
  let texts = 0;
  for (let from: UnitPlace | null = FIRST_UNIT; from !== null;) {
    const query = { from, limit: PAGE.units, maxCharacters: PAGE.characters };
    const page: UnitsAfter = await parse.unitsAfter(query, context.signal);
    first ??= page;
    if (page.releaseId !== first.releaseId || page.generation !== first.generation) return null;
    for (const { sourceText, speaker } of page.items) miner.add(sourceText, speaker);
    texts += page.items.length;
    context.progress(texts, page.total, 'units', 'reading');
    from = page.next;
  }
  const releaseId = first?.releaseId ?? null;
  if (releaseId === null) {
    throw new TaskError('text_not_indexed', 'no release is indexed yet; run the job parse first');
  }
  return { releaseId, texts, candidates: miner.candidates(context.args.min_count) };
}

interface Classified {
  /** By the place of the candidate. */
  readonly classes: ReadonlyMap<string, TermClass>;
  /** Those that a later run sorts, because the provider has trouble. */
  readonly postponed: ReadonlySet<string>;
  /** `null` when nobody was asked. */
  readonly usage: ReportedUsage | null;
  /** Candidates that were not sorted, by the code of the failure. */
  readonly failures: Readonly<Record<string, number>>;
  /** Of a dry run: whether the estimate fits under the caps; `null` without a cap. */
  readonly fits: boolean | null;
}

/** When nobody sorts. */
const UNSORTED: Classified = {
  classes: new Map(),
  postponed: new Set(),
  usage: null,
  failures: {},
  fits: null,
};

/**
 * Opens the provider that sorts the candidates, before the texts are read. What it cannot sort becomes a draft without a category.
 * Candidates that a failure of the provider leaves unsorted wait for the next run: people would have to remove the ordinary words.
 *
 * @throws ServiceError and TaskError of the provider
 */
async function openClassifier(
  providers: ProviderAccess,
  { provider: name, max_tokens, max_cost, dry_run: isDryRun = false }: MiningArguments,
  signal: AbortSignal,
): Promise<(candidates: readonly TermCandidate[], pair: LanguagePair) => Promise<Classified>> {
  if (name === undefined) return async () => await Promise.resolve(UNSORTED);
  const chosen = await providers.choose({ provider: name, max_tokens, max_cost }, 'terms');
  const provider = await providers.open(chosen, signal);
  const { classifier } = provider;
  if (classifier === undefined)
    throw new TaskError('provider_not_configured', `the provider "${name}" cannot sort terms`);
  provider.beginRun();
  return async (candidates, { sourceLanguage }) => {
    const units = candidates.map(({ form, contexts }, at) => ({
      unitId: String(at),
      sourceText: form,
      contexts,
    }));
    const subject = { sourceLanguage, units };
    if (isDryRun) {
      const estimate = classifier.estimate(subject);
      return { ...UNSORTED, usage: reportedUsage(estimate), fits: fits(estimate, chosen) };
    }
    const spending = createSpending(chosen);
    const classes = new Map<string, TermClass>();
    const postponed = new Set<string>();
    const failures: Record<string, number> = {};
    let usage = NO_USAGE;
    let trouble: string | undefined;
    for (const batch of splitIntoBatches(units, provider.stepSize)) {
      if (trouble !== undefined) {
        for (const { unitId } of batch) postponed.add(unitId);
        failures[trouble] = (failures[trouble] ?? 0) + batch.length;
        continue;
      }
      const answer = await classifier.classify({ sourceLanguage, units: batch }, spending, signal);
      usage = addUsage(usage, answer.usage);
      for (const [unitId, found] of answer.classes) classes.set(unitId, found);
      for (const { unitId, code } of answer.failures) {
        failures[code] = (failures[code] ?? 0) + 1;
        if (!isOfProvider(code)) continue;
        postponed.add(unitId);
        trouble ??= code;
      }
    }
    return { classes, postponed, usage: reportedUsage(usage), failures, fits: null };
  };
}

function categoryOf({ kind }: TermCandidate, found: TermClass | null): string {
  if (found !== null) return found;
  return kind === 'speaker' ? 'name' : '';
}

/** What a person needs to decide: how often, and where. */
function noteOf({ kind, count, contexts }: TermCandidate): string {
  const where = kind === 'speaker' ? `speaks ${countText(count, 'line')}` : `in ${countText(count, 'text')}`;
  return [where, ...contexts].join('\n');
}
