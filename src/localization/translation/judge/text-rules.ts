import { ServiceError } from '../../../contract/problems/service-error.ts';
import { messageOf } from '../../../platform/errors.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import { compileRules, type CompiledRules } from '../../parse/rules/compile-rules.ts';
import { loadRules } from '../../parse/rules/load-rules.ts';
import type { ParseConfiguration, ParseRule } from '../../parse/rules/parse-config.ts';

/** The rules of a configuration, as far as translations depend on them. */
export interface TextRules extends CompiledRules {
  /** Another one for every change of a rule that can change a judgement. */
  readonly digest: string;
}

/**
 * Creates a function that gives the rules of the current configuration. They are compiled once for each configuration; files of
 * characters are read then.
 *
 * @returns a function that throws ServiceError `backend_unavailable` when a file cannot be read
 */
export function createTextRules(configuration: () => ParseConfiguration): () => Promise<TextRules> {
  let last: { readonly configuration: ParseConfiguration; readonly rules: Promise<TextRules> } | null = null;
  return async () => {
    const current = configuration();
    if (last?.configuration !== current) last = { configuration: current, rules: readRules(current) };
    const { rules } = last;
    try {
      return await rules;
    } catch (error) {
      // A file that was missing can be there the next time.
      if (last?.rules === rules) last = null;
      const detail = `the rules for translations cannot be used: ${messageOf(error)}; correct the file or the rule`;
      throw new ServiceError('backend_unavailable', detail, { cause: error });
    }
  };
}

async function readRules(configuration: ParseConfiguration): Promise<TextRules> {
  const wanted = { ...configuration, secrets: {}, rules: configuration.rules.map(judgingPart) };
  const loaded = await loadRules(wanted);
  const characters = [...loaded.files].map(([path, bytes]) => [path, blake3Hex(bytes)]);
  const digest = blake3Hex(Buffer.from(JSON.stringify([loaded.configuration.rules, characters])));
  return { ...compileRules(loaded), digest };
}

/** A rule without what only the parser needs: its secrets and schemas are not read again. */
function judgingPart(rule: ParseRule): ParseRule {
  const { password: _password, codec: _codec, schema: _schema, typeTrees: _typeTrees, ...rest } = rule;
  return rest;
}
