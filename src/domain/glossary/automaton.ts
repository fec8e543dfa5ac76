import { FOUND_FIELDS, packTrie, STATE_FIELDS } from './packed-trie.ts';
import { buildTrie, NONE } from './trie.ts';

export interface Automaton {
  /**
   * Visits every occurrence, also overlapping ones, in the order of their ends; of those with one end the longest first.
   *
   * @param visit gets the index of the pattern and the offset behind the occurrence, in UTF-16 units
   */
  find(text: string, visit: (pattern: number, end: number) => void): void;
}

/** Builds the automaton of Aho and Corasick over UTF-16 units. @param patterns distinct and not empty */
export function createAutomaton(patterns: readonly string[]): Automaton {
  const { codes, states, found } = packTrie(buildTrie(patterns));
  return {
    find: (text, visit) => {
      let state = 0;
      for (let index = 0; index < text.length; index += 1) {
        const code = codes[text.charCodeAt(index)] ?? 0;
        state = code === 0 ? 0 : nextOf(states, state, code);
        let end = states[state * STATE_FIELDS + 3] ?? NONE;
        for (; end !== NONE; end = found[end * FOUND_FIELDS + 1] ?? NONE) {
          visit(found[end * FOUND_FIELDS] ?? NONE, index + 1);
        }
      }
    },
  };
}

/** The state after a unit: that of the longest suffix of the text so far that begins a pattern. */
function nextOf(states: Int32Array, from: number, code: number): number {
  for (let state = from; ; state = states[state * STATE_FIELDS + 2] ?? 0) {
    const child = (states[state * STATE_FIELDS] ?? 0) + code;
    if (states[child * STATE_FIELDS + 1] === state) return child;
    if (state === 0) return 0;
  }
}
