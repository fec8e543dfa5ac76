import type { LocalizedConditionType } from '../../contract/crd/channel-reasons.ts';
import { BLOCKERS_MAX, MESSAGE_MAX, type ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import type { Result } from '../../domain/result.ts';
import { LEFT_OUT_BLOCKERS } from '../../domain/translation/left-out-blockers.ts';
import { shareOf } from '../../domain/translation/publish-outcome.ts';
import type { TranslationStatus } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import type { Finding } from './service-condition.ts';
import { MIRRORED, WITHDRAWN } from './pin.ts';

/** The report of the translations, or why there is none. */
export type Texts = Result<TranslationStatus, Obstacle>;

type LocalizationRow = NonNullable<ReleaseChannelStatus['localization']>;
type Blocker = TranslationStatus['publish_blockers'][number];

/** Blockers that count no units: the texts of the official release are not known yet, or only at the origin. */
const UNKNOWN_TEXTS: ReadonlySet<string> = new Set(['no_official_release', 'tasks_not_built', MIRRORED]);
/** Blockers that are about the channel, or about all units, which others count. */
const WITHOUT_UNITS: ReadonlySet<string> = new Set([WITHDRAWN, 'coverage_incomplete']);

/** The translations as a status shows them. */
export function localizationRow({
  current,
  coverage,
  publish_blockers: blockers,
  automation,
}: TranslationStatus): LocalizationRow {
  const counted = coverage.units - coverage.skipped;
  const ready = coverage.publishable;
  return {
    ...(current === null ? {} : { baseRelease: current.base_release_id, stale: current.stale }),
    ...(coverage.release_id === null ? {} : { officialRelease: coverage.release_id }),
    targetLanguage: coverage.target_language,
    ...(missingTexts(blockers) === undefined && ready !== null
      ? { coverage: percentOf(ready, counted) }
      : {}),
    units: {
      total: coverage.units,
      ...(ready === null ? {} : { ready }),
      accepted: coverage.accepted,
      translated: coverage.translated,
      blocked: coverage.blocked,
      skipped: coverage.skipped,
    },
    blockers: blockers.slice(0, BLOCKERS_MAX).map(({ code, message, count }) => ({
      code: code.slice(0, 64),
      message: message.slice(0, MESSAGE_MAX),
      count,
    })),
    automation: { state: automation.state.slice(0, 32), message: automation.message.slice(0, MESSAGE_MAX) },
  };
}

/** The conditions that only a localized channel has. @param texts why there is no report, if there is none */
export function localizedConditions(texts: Texts): Readonly<Record<LocalizedConditionType, Finding>> {
  if (!texts.ok) {
    const unknown = { status: 'Unknown', ...texts.error } as const;
    return { BaseCurrent: unknown, Translated: unknown, Publishable: unknown };
  }
  const missing = missingTexts(texts.value.publish_blockers);
  return {
    BaseCurrent: baseOf(texts.value),
    Translated:
      missing === undefined ? translatedOf(texts.value) : { status: 'Unknown', ...whyMissing(missing) },
    Publishable:
      missing === undefined ? publishableOf(texts.value) : { status: 'False', ...whyMissing(missing) },
  };
}

function baseOf({ current, coverage, automation }: TranslationStatus): Finding {
  if (current === null) {
    const message = `no localized release is current; ${automation.message}`;
    return { status: 'Unknown', reason: 'NothingPublished', message };
  }
  const { localized_release_id: id, base_release_id: base, stale } = current;
  if (!stale) return { status: 'True', reason: 'BaseCurrent', message: `${id} is built on ${base}` };
  const message = `${id} is built on ${base}, and ${coverage.release_id ?? 'none'} is the current official release; ${automation.message}`;
  return { status: 'False', reason: 'BaseReleaseChanged', message };
}

function translatedOf({ coverage, publish_blockers: blockers }: TranslationStatus): Finding {
  const counted = coverage.units - coverage.skipped;
  const complete = `${counted} of ${counted} units (100%)`;
  // Without a blocker of units every unit is ready.
  const open = blockers.filter(({ code }) => !WITHOUT_UNITS.has(code));
  if (open.length === 0) return { status: 'True', reason: 'Complete', message: complete };
  const ready = coverage.publishable;
  const message =
    ready === null
      ? `an unknown part of ${counted} units, because too many are on hold to be counted`
      : `${ready} of ${counted} units (${percentOf(ready, counted)})`;
  const why = open.map(({ code, count }) => `${code} ${count}`).join(', ');
  return { status: 'False', reason: 'Incomplete', message: `${message}: ${why}` };
}

function publishableOf({ publish_blockers: blockers }: TranslationStatus): Finding {
  const blocking = blockers.find(({ code }) => !LEFT_OUT_BLOCKERS.has(code));
  return blocking === undefined
    ? { status: 'True', reason: 'NothingBlocks', message: 'nothing prevents a publication' }
    : {
        status: 'False',
        reason: 'PublishBlocked',
        message: WITHOUT_UNITS.has(blocking.code)
          ? blocking.message
          : `${blocking.count} ${blocking.message}`,
      };
}

function missingTexts(blockers: readonly Blocker[]): Blocker | undefined {
  return blockers.find(({ code }) => UNKNOWN_TEXTS.has(code));
}

function whyMissing({ code, message }: Blocker): Obstacle {
  return { reason: code === MIRRORED ? 'ChannelMirrored' : 'TextsNotReady', message };
}

/** Rounded down: 100% means all. */
function percentOf(ready: number, counted: number): string {
  return `${Math.floor(shareOf(ready, counted, 100))}%`;
}
