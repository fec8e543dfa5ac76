import { access, constants, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { CompiledGlossary } from '../../../domain/glossary/compile-glossary.ts';
import { messageOf } from '../../../platform/errors.ts';
import { writeFile } from '../../../platform/files/file-changes.ts';
import { createHttpClient } from '../../../platform/http/http-client.ts';
import { createSecretMask } from '../../../platform/logging/secret-mask.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { textTable } from '../../../platform/terminal/text-table.ts';
import { usageError } from '../../../platform/terminal/usage-error.ts';
import { FixtureFileError } from '../providers/fixture-file.ts';
import { unpricedOf } from '../providers/provider-config.ts';
import { createProviderSet } from '../providers/provider-set.ts';
import type { TranslationProvider } from '../providers/provider.ts';
import { createSpending, fits, type SpendingCaps } from '../providers/spending.ts';
import { askVariant, estimateVariant, portionsOf, type Portion } from './ask-variant.ts';
import { measureAnswers } from './measure-answers.ts';
import { QualityError } from './quality-error.ts';
import { parseQualityOptions, QUALITY_EXITS, QUALITY_USAGE, type QualityOptions } from './quality-options.ts';
import { keptText, qualityPage } from './quality-page.ts';
import {
  estimateReport,
  qualityReport,
  totalEstimate,
  type EstimatedVariant,
  type MeasuredVariant,
  type QualityReport,
} from './quality-report.ts';
import { listVariants, readQualitySettings, type QualitySettings, type Variant } from './quality-settings.ts';
import { readReferenceSet, type ReferenceSet } from './read-reference-set.ts';
import { readTermFile, type TermFile } from './read-term-file.ts';

const PROGRAM = 'slipway translations evaluate';

/** The environment of `slipway translations evaluate`. */
interface QualityIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Shows how many texts of a variant are done. */
  readonly progress: { show(done: number, total: number): void; end(): void };
  readonly clock: Clock;
  /** In [0, 1), for the jitter of waits. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly version: string;
}

/** What the variants of an evaluation share. */
interface Work {
  readonly set: ReferenceSet;
  readonly settings: QualitySettings;
  readonly glossary: CompiledGlossary;
  readonly terms: TermFile['terms'];
  readonly portions: readonly Portion[];
}

interface OpenVariant extends EstimatedVariant {
  readonly variant: Variant;
}

/**
 * Runs `slipway translations evaluate`: measures what providers give for texts with reviewed translations.
 *
 * @param argv the command line after `translations`
 * @returns one of {@link QUALITY_EXITS}
 */
export async function runQuality(argv: readonly string[], io: QualityIo): Promise<number> {
  const options = parseQualityOptions(argv);
  if (!options.ok) {
    io.stderr.write(usageError(PROGRAM, options.error));
    return QUALITY_EXITS.usage;
  }
  if (options.value === 'help') {
    io.stdout.write(QUALITY_USAGE);
    return QUALITY_EXITS.ok;
  }
  try {
    return await evaluate(options.value, io);
  } catch (error) {
    io.progress.end();
    if (error instanceof QualityError) {
      io.stderr.write(usageError(PROGRAM, error.message.replaceAll('\n', `\n${PROGRAM}: `)));
      return QUALITY_EXITS.usage;
    }
    if (!io.signal.aborted) throw error;
    io.stderr.write(`${PROGRAM}: interrupted; nothing was written\n`);
    return QUALITY_EXITS.interrupted;
  }
}

async function evaluate(options: QualityOptions, io: QualityIo): Promise<number> {
  const settings = await readQualitySettings(options.config);
  const { translation } = settings;
  const variants = await listVariants(options, settings);
  if (options.html !== null)
    await requireWritable(options.html, [options.set, options.config ?? options.set]);
  const { glossary, terms, problem } = await readTermFile(options.glossary, translation, io.signal);
  if (problem !== null) io.stderr.write(`${options.glossary ?? ''}: ${problem}\n`);
  const set = await readReferenceSet(options.set, translation, options.limit, io.signal);
  const portions = portionsOf(set.texts, glossary, settings);
  const work = { set, settings, glossary, terms, portions };
  const client = createHttpClient({ connections: 1, keepAlive: true });
  try {
    const estimated: OpenVariant[] = [];
    for (const variant of variants) {
      const provider = await openVariant(variant, client, io);
      const { name } = variant;
      estimated.push({ variant, name, provider, estimate: estimateVariant(provider, portions, settings) });
    }
    const caps = capsOf(options, settings, estimated);
    if (options.dryRun) {
      const shown = options.json
        ? `${JSON.stringify(estimateReport({ ...set, file: options.set }, translation, estimated, caps), null, 2)}\n`
        : renderEstimate(estimated, set);
      io.stdout.write(shown);
      return QUALITY_EXITS.ok;
    }
    io.stderr.write(renderEstimate(estimated, set));
    requireRoom(estimated, caps);
    const measured = await askAll(estimated, work, caps, io);
    const report = qualityReport({ ...set, file: options.set }, translation, measured);
    // What was paid for is shown first.
    io.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report));
    if (options.html !== null) await writePage(options.html, qualityPage(report, io.version));
    return report.variants.some(({ failed }) => failed > 0) ? QUALITY_EXITS.incomplete : QUALITY_EXITS.ok;
  } finally {
    client.close();
  }
}

async function openVariant(
  { provider: name, config, fixture }: Variant,
  client: ReturnType<typeof createHttpClient>,
  { clock, random, signal }: QualityIo,
): Promise<TranslationProvider> {
  // A set of its own for each: two variants of one provider have different prompts.
  const set = createProviderSet({ [name]: config }, { clock, random, secrets: createSecretMask(), client });
  try {
    const provider = await set.open({ name, fixturePath: fixture, signal });
    if (provider !== null) return provider;
  } catch (error) {
    if (!(error instanceof FixtureFileError)) throw error;
    throw new QualityError(`--fixture ${fixture ?? ''}: ${error.message}`);
  }
  throw new QualityError(`the provider "${name}" cannot be opened`);
}

function capsOf(
  { maxTokens, maxCost }: QualityOptions,
  { translation }: QualitySettings,
  estimated: readonly OpenVariant[],
): SpendingCaps {
  const caps = {
    maxTokens: maxTokens ?? translation.maxTokens ?? null,
    maxCost: maxCost ?? translation.maxCost ?? null,
  };
  const unpriced = unpricedOf(
    Object.fromEntries(estimated.map(({ variant }) => [variant.provider, variant.config])),
  );
  if (caps.maxCost === null || unpriced === null) return caps;
  throw new QualityError(
    `a cap on costs needs translation.providers.${unpriced}.prices; configure them, or use --max-tokens`,
  );
}

/** A run that ends at its cap would compare unequal work. */
function requireRoom(estimated: readonly OpenVariant[], { maxTokens, maxCost }: SpendingCaps): void {
  const total = totalEstimate(estimated);
  if (fits(total, { maxTokens, maxCost }) !== false) return;
  const { promptTokens, answerTokens, cost } = total;
  const caps = [
    ...(maxTokens === null ? [] : [`${maxTokens} tokens`]),
    ...(maxCost === null ? [] : [`a cost of ${maxCost}`]),
  ];
  throw new QualityError(
    `the estimate, ${promptTokens + answerTokens} tokens and a cost of ${shownCost(cost)}, is above the cap of ${caps.join(' and ')}; lower --limit, or raise --max-tokens or --max-cost`,
  );
}

async function askAll(
  estimated: readonly OpenVariant[],
  { set, settings, glossary, terms, portions }: Work,
  caps: SpendingCaps,
  io: QualityIo,
): Promise<readonly MeasuredVariant[]> {
  const spending = createSpending(caps);
  const measured: MeasuredVariant[] = [];
  // One after another, so that the seconds of each are its own.
  for (const { name, provider, estimate } of estimated) {
    io.stderr.write(`asking ${name}\n`);
    const answers = await askVariant(provider, portions, settings, {
      spending,
      ...(terms === null ? {} : { terms }),
      clock: io.clock,
      signal: io.signal,
      progress: (done) => {
        io.progress.show(done, set.texts.length);
      },
    });
    io.progress.end();
    const targetOf = (unitId: string): string | null => {
      const answer = answers.byUnit.get(unitId);
      return answer !== undefined && 'target' in answer ? answer.target : null;
    };
    const judged = measureAnswers(set.texts, portions, targetOf, glossary, settings);
    measured.push({ name, provider, estimate, answers, measured: judged });
  }
  return measured;
}

/** @throws QualityError */
async function requireWritable(path: string, inputs: readonly string[]): Promise<void> {
  try {
    if (inputs.some((input) => resolve(input) === resolve(path)))
      throw new Error('it is read by this command');
    const found = await stat(path).catch(() => null);
    if (found?.isDirectory() === true) throw new Error('it is a folder');
    await access(found === null ? dirname(path) : path, constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): QualityError {
  return new QualityError(`--html: ${path} cannot be written: ${messageOf(error)}`);
}

async function writePage(path: string, page: string): Promise<void> {
  try {
    await writeFile(path, page);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function renderEstimate(estimated: readonly OpenVariant[], { texts, usable }: ReferenceSet): string {
  const rows = estimated.map(({ name, estimate: { requests, promptTokens, answerTokens, cost } }) => [
    name,
    String(requests),
    String(promptTokens + answerTokens),
    shownCost(cost),
  ]);
  const head = `${texts.length} of ${usable} texts; the estimate is high rather than low:\n`;
  return head + textTable(['VARIANT', 'REQUESTS', 'TOKENS', 'COST'], rows);
}

function renderReport({ variants, set }: QualityReport): string {
  const head = ['VARIANT', 'CHRF', 'TRANSLATED', 'ERRORS', 'TERMS', 'TOKENS', 'LENGTH', 'COST', 'SECONDS'];
  const rows = variants.map((variant) => [
    variant.name,
    variant.chrf.toFixed(2),
    `${variant.translated} of ${set.texts}`,
    String(variant.with_errors),
    keptText(variant.terms),
    keptText(variant.tokens),
    keptText(variant.length),
    shownCost(variant.usage.cost),
    String(variant.seconds),
  ]);
  const reasons = variants.flatMap(({ name, failed, failure_reason: reason }) =>
    failed === 0 ? [] : [`${name}: ${failed} failed: ${reason ?? ''}\n`],
  );
  return textTable(head, rows) + reasons.join('');
}

function shownCost(cost: number): string {
  return String(Math.round(cost * 1_000_000) / 1_000_000);
}
