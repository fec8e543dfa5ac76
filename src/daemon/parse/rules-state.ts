import type { Blake3Hex } from '../../domain/release/digest.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { loadRules, rulesDigest, RulesError } from './rules/load-rules.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';

/** The digest of the rules, or every problem of them. */
export type RulesState = Result<Blake3Hex, readonly string[]>;

/** Reads the rules and the files that they name. */
async function readRulesState(configuration: ParseConfiguration): Promise<RulesState> {
  try {
    return success(rulesDigest(await loadRules(configuration)));
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return failure(error.problems);
  }
}

/** Every problem of the files that the rules name; none when a run can use the rules. */
export async function problemsOfRules(configuration: ParseConfiguration): Promise<readonly string[]> {
  const state = await readRulesState(configuration);
  return state.ok ? [] : state.error;
}

/**
 * Creates a function that reads the rules of the current configuration.
 *
 * @returns with `true` it may answer with what it read before for the same configuration: schemas can be large
 */
export function createRulesState(
  configuration: () => ParseConfiguration,
): (mayBeOld: boolean) => Promise<RulesState> {
  let last: { readonly configuration: ParseConfiguration; readonly state: RulesState } | null = null;
  return async (mayBeOld) => {
    const current = configuration();
    if (mayBeOld && last?.configuration === current) return last.state;
    last = { configuration: current, state: await readRulesState(current) };
    return last.state;
  };
}
