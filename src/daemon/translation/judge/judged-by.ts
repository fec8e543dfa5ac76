import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { TermMissingRules } from '../../glossary/glossary-config.ts';
import type { JudgedBy } from '../work/requalified-targets.ts';
import type { TextRules } from './text-rules.ts';

export interface JudgedByOptions {
  readonly glossary: Pick<GlossaryPort, 'diagnose'>;
  readonly rules: () => Promise<TextRules>;
  readonly languages: () => LanguagePair;
  readonly termMissing: () => TermMissingRules;
}

/** Increase it when the checks of this program find something else than before: stored targets are judged again then. */
const CHECKS_VERSION = 1;
const KEY_DIGITS = 32;

/**
 * Creates a function that names what targets are judged by now.
 *
 * @returns a function that throws ServiceError `backend_unavailable`
 */
export function createJudgedBy({
  glossary,
  rules,
  languages,
  termMissing,
}: JudgedByOptions): () => Promise<JudgedBy> {
  return async () => {
    const { digest } = await rules();
    const pair = languages();
    const { generation } = await glossary.diagnose({ units: [], languages: pair });
    const facts = [CHECKS_VERSION, digest, generation, termMissing(), pair];
    return { key: blake3Hex(Buffer.from(JSON.stringify(facts))).slice(0, KEY_DIGITS), generation };
  };
}
