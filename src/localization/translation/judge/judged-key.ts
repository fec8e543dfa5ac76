import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { TermMissingRules } from '../../glossary/glossary-config.ts';
import { containerKey } from '../work/store/target-rows.ts';

interface JudgingFacts {
  /** Of the rules of containers. */
  readonly digest: string;
  /** Of the Glossary. */
  readonly generation: number;
  /** The file of another Glossary than the main one. */
  readonly glossaryPath: string | undefined;
  readonly termMissing: TermMissingRules;
  readonly languages: LanguagePair;
  readonly wasProofread: boolean;
}

/** Increase it when the checks of this program find something else than before: stored targets are judged again then. */
const CHECKS_VERSION = 2;
const KEY_DIGITS = 32;

/** The name of the rules and the Glossary that a target is judged by. */
export function judgedKey({ wasProofread, glossaryPath, ...facts }: JudgingFacts): string {
  const { digest, generation, termMissing, languages } = facts;
  const named = [CHECKS_VERSION, digest, generation, termMissing, languages, glossaryPath ?? null];
  const key = blake3Hex(Buffer.from(JSON.stringify(named))).slice(0, KEY_DIGITS);
  return containerKey(key, wasProofread);
}
