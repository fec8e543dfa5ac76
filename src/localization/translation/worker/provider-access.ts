import { join } from 'node:path';
import type { ReportBodyOf } from '../../../contract/reports/reports.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { findBelowRoot } from '../../../platform/files/below-root.ts';
import { createHttpClient } from '../../../platform/http/http-client.ts';
import type { SecretMask } from '../../../platform/logging/secret-mask.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import { EVALUATING_KINDS } from '../providers/evaluation.ts';
import { FixtureFileError } from '../providers/fixture-file.ts';
import { providerNamed, unpricedOf, type ProviderConfiguration } from '../providers/provider-config.ts';
import { createProviderSet, type ProviderSet } from '../providers/provider-set.ts';
import type { TranslationProvider } from '../providers/provider.ts';
import type { WorkerConfiguration } from './worker-config.ts';
import { messageOf } from '../../../platform/errors.ts';
import { findWeakTokenFiles, readTokenFile } from '../../../platform/files/token-file.ts';
import type { DoctorFinding } from '../../../engine/check.ts';
import { readCharacterSheet } from '../providers/character-sheet.ts';

/** A provider as a caller names it, and the caps of the run. */
export interface ProviderArguments {
  /** Default: the configured one. */
  readonly provider?: string | undefined;
  readonly fixture_path?: string | undefined;
  readonly max_tokens?: number | undefined;
  readonly max_cost?: number | undefined;
}

/** The provider of a run, and where the run stops. */
export interface ChosenProvider {
  readonly provider: string;
  /** The file of prepared translations; `null` for providers without one. */
  readonly fixturePath: string | null;
  readonly maxTokens: number | null;
  readonly maxCost: number | null;
}

/** What a provider is asked for. */
type ProviderUse = 'translation' | 'evaluation' | 'terms';

type ReportedProvider = ReportBodyOf<'translation.status'>['machine_translation']['providers'][number];

/** The providers of the current configuration. Runs of every kind that use the same one share its rate limit. */
export interface ProviderAccess {
  /** The kind of a provider, of the configured one without a name; `null` when there is none. */
  kindOf(name: string | undefined): ProviderConfiguration['kind'] | null;
  /**
   * Checks what a caller names.
   *
   * @throws ServiceError `provider_not_configured`, `invalid_request`, `invalid_path`, `file_not_found`
   */
  choose(args: ProviderArguments, use: ProviderUse): Promise<ChosenProvider>;
  /** The configured providers and how their requests went, for reports. */
  states(): readonly ReportedProvider[];
  /** @throws TaskError `fixture_invalid`, `provider_not_configured`; the signal's reason */
  open(chosen: ChosenProvider, signal: AbortSignal): Promise<TranslationProvider>;
}

interface ProviderAccessOptions {
  readonly clock: Clock;
  /** In [0, 1), for the jitter of waits. */
  readonly random: () => number;
  readonly secrets: SecretMask;
  readonly dataDirectory: string;
  readonly configuration: () => WorkerConfiguration;
}

const CONNECTIONS = 64;

/** Creates the access; nothing is opened yet. */
export function createProviderAccess(options: ProviderAccessOptions): ProviderAccess {
  const { configuration, dataDirectory } = options;
  const current = createCurrentSet(options);
  return {
    kindOf: (name) => {
      const { provider = '', providers } = configuration();
      return providerNamed(providers, name ?? provider)?.kind ?? null;
    },
    choose: async (args, use) => {
      const { provider: defaultProvider, providers, maxTokens, maxCost, fixtureRoot } = configuration();
      const name = args.provider ?? defaultProvider ?? null;
      const known = name === null ? null : providerNamed(providers, name);
      if (name === null || known === null) throw notConfigured(name, Object.keys(providers));
      const { needs, kinds } = USES[use];
      if (kinds?.has(known.kind) === false) throw cannotBeUsed(name, known, needs, kinds);
      const chosen = {
        provider: name,
        fixturePath: await fixtureOf(fixtureRoot ?? join(dataDirectory, 'fixtures'), known, args),
        maxTokens: args.max_tokens ?? maxTokens ?? null,
        maxCost: args.max_cost ?? maxCost ?? null,
      };
      requirePrices(chosen, providers, use);
      return chosen;
    },
    states: () => {
      const { provider: usual, providers } = configuration();
      const set = current();
      return Object.entries(providers).map(([name, { kind, model, fallback }]) => {
        const known = set.stateOf(name);
        return {
          name,
          kind,
          model: model ?? null,
          is_default: name === usual,
          can_review: EVALUATING_KINDS.has(kind),
          fallback: fallback ?? null,
          state: known?.state ?? 'untried',
          last_answer_at: known?.lastAnswerAt ?? null,
          last_failure: known?.lastFailure ?? null,
          next_request_at: known?.nextRequestAt ?? null,
        };
      });
    },
    open: async ({ provider: name, fixturePath }, signal) => {
      try {
        const provider = await current().open({ name, fixturePath, signal });
        if (provider !== null) return provider;
      } catch (error) {
        if (!(error instanceof FixtureFileError)) throw error;
        throw new TaskError('fixture_invalid', `the file of prepared translations: ${error.message}`, {
          cause: error,
        });
      }
      throw new TaskError('provider_not_configured', `the provider "${name}" is no longer configured`);
    },
  };
}

/** The set of the current configuration. It is made again when the providers change. */
function createCurrentSet(options: ProviderAccessOptions): () => ProviderSet {
  const client = createHttpClient({ connections: CONNECTIONS, keepAlive: true });
  let last: { readonly providers: WorkerConfiguration['providers']; readonly set: ProviderSet } | null = null;
  return () => {
    const { providers } = options.configuration();
    if (last?.providers !== providers) {
      last = { providers, set: createProviderSet(providers, { ...options, client }) };
    }
    return last.set;
  };
}

function notConfigured(provider: string | null, names: readonly string[]): ServiceError {
  const configured = [...names, 'fixture', 'memory-only'].join(', ');
  const detail =
    provider === null
      ? `the run names no provider, and translation.provider is not configured; name one of ${configured}`
      : `no provider has the name "${provider.slice(0, 64)}"; there are ${configured}`;
  return new ServiceError('provider_not_configured', detail);
}

/** What uses need beyond translations, and which kinds of providers can do it. */
const USES: Readonly<
  Record<ProviderUse, { readonly needs: string; readonly kinds: ReadonlySet<string> | null }>
> = {
  translation: { needs: 'translate', kinds: null },
  evaluation: { needs: 'evaluate translations', kinds: EVALUATING_KINDS },
  terms: { needs: 'sort terms', kinds: new Set(['openai']) },
};

function cannotBeUsed(
  name: string,
  { kind }: ProviderConfiguration,
  needs: string,
  kinds: ReadonlySet<string>,
): ServiceError {
  return new ServiceError(
    'provider_not_configured',
    `the provider "${name}" cannot ${needs}: its kind is "${kind}"; name one of the kind ${[...kinds].join(' or ')}`,
  );
}

async function fixtureOf(
  root: string,
  { kind }: ProviderConfiguration,
  { fixture_path: path }: ProviderArguments,
): Promise<string | null> {
  if (kind !== 'fixture') return null;
  if (path === undefined) {
    throw new ServiceError('invalid_request', 'a provider of the kind "fixture" needs fixture_path', {
      errors: [{ pointer: '/fixture_path', message: 'is required with a provider of the kind "fixture"' }],
    });
  }
  const found = await findBelowRoot(root, path);
  if (found !== null) return found;
  throw new ServiceError(
    'file_not_found',
    `there is no file "${path}" in the folder translation.fixtureRoot`,
  );
}

/** A cap on costs would never be reached without the prices of all that the use asks. */
function requirePrices(
  { provider, maxCost }: ChosenProvider,
  providers: WorkerConfiguration['providers'],
  use: ProviderUse,
): void {
  const known = providerNamed(providers, provider);
  if (maxCost === null || known === null) return;
  const second = use === 'terms' ? null : (known.fallback ?? null);
  const fallback = second === null ? null : providerNamed(providers, second);
  const isAsked = fallback !== null && USES[use].kinds?.has(fallback.kind) !== false;
  const unpriced = unpricedOf({ [provider]: known, ...(isAsked ? { [second ?? '']: fallback } : {}) });
  if (unpriced === null) return;
  throw new ServiceError(
    'invalid_request',
    `max_cost needs translation.providers.${unpriced}.prices; configure them, or use max_tokens`,
    { errors: [{ pointer: '/args', message: `max_cost needs the prices of the provider "${unpriced}"` }] },
  );
}

/** The check `translation.providers`: what runs of workers need is there, and its secrets are kept well. */
export async function checkProviders({
  provider,
  providers,
  charactersFile,
}: WorkerConfiguration): Promise<DoctorFinding> {
  const entries = Object.entries(providers);
  const tokenFiles = [...new Set(entries.flatMap(([, { tokenFile }]) => tokenFile ?? []))];
  const problems = [
    ...(await Promise.all(tokenFiles.map(unreadable))).flat(),
    ...(charactersFile === undefined ? [] : await sheetProblems(charactersFile)),
  ];
  if (problems.length > 0) return { status: 'failing', message: problems.join('; ') };
  const weak = await findWeakTokenFiles(tokenFiles);
  if (weak.length > 0) return { status: 'degraded', message: weak.join('; ') };
  const names = entries.map(([name, { kind }]) => `${name} (${kind})`).join(', ');
  const usual =
    provider === undefined ? 'runs must name one: translation.provider is not set' : `runs use ${provider}`;
  return {
    status: 'ok',
    message:
      entries.length === 0
        ? 'no provider is configured; translation-worker-run can use fixture and memory-only'
        : `configured: ${names}; ${usual}`,
  };
}

async function unreadable(path: string): Promise<readonly string[]> {
  try {
    await readTokenFile(path);
    return [];
  } catch (error) {
    return [`the API key cannot be used: ${messageOf(error)}`];
  }
}

async function sheetProblems(path: string): Promise<readonly string[]> {
  try {
    await readCharacterSheet(path);
    return [];
  } catch (error) {
    return [`the character sheet cannot be used: ${messageOf(error)}`];
  }
}
