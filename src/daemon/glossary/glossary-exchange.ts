import type { LanguagePair } from '../../domain/glossary/term.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Thread } from '../../platform/threads/thread.ts';
import type { GlossaryCalls } from './glossary-worker.ts';

export interface GlossaryExchangeDependencies {
  readonly thread: Pick<Thread<GlossaryCalls>, 'call'>;
  readonly clock: Clock;
  /** Makes the id of a new term, without its prefix. */
  readonly createId: () => string;
  /** The configured languages. */
  readonly languages: () => LanguagePair;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  /** Of the program, for headers of files. */
  readonly version: string;
  /** Called after an import with the new generation. */
  readonly onChanged: (generation: number) => void;
}

/** The languages of a run: those that its arguments name, else the configured ones. */
export function wantedLanguages(
  configured: LanguagePair,
  args: { readonly source_language?: string | undefined; readonly target_language?: string | undefined },
): LanguagePair {
  return {
    sourceLanguage: args.source_language ?? configured.sourceLanguage,
    targetLanguage: args.target_language ?? configured.targetLanguage,
  };
}
