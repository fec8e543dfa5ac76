/** The keys of the page that is shown. */

import { signal } from '@preact/signals';

export interface PageKey {
  /**
   * Such as `j`, `?`, `Control+Enter` or `Alt+1`: modifiers in the order Control, Alt, Shift, then the `key` of the event.
   * The command key of a Mac counts as Control.
   */
  readonly keys: string;
  /** For the list of keys; a key that another one's text explains has none. */
  readonly text?: string;
  readonly run: () => void;
  /** Whether it also works where a person fills in a form, whose keys are its own otherwise. */
  readonly worksInForms?: boolean;
}

export interface KeyPress {
  readonly key: string;
  readonly code: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  readonly isComposing: boolean;
  readonly isTyping: boolean;
  readonly isInForm: boolean;
}

/** The keys that work now. Those that were added last win. */
export class Keyboard {
  readonly keys = signal<readonly PageKey[]>([]);
  readonly #isMac: boolean;

  /**
   * @param isMac where Alt makes characters, such as Alt+C a ç: in a text, a key with Alt is a command only together with
   *   Control there
   */
  constructor(isMac = false) {
    this.#isMac = isMac;
  }

  /** Adds keys. @returns removes them */
  add(added: readonly PageKey[]): () => void {
    this.keys.value = [...added, ...this.keys.peek()];
    return () => {
      this.keys.value = this.keys.peek().filter((each) => !added.includes(each));
    };
  }

  /** Runs the function of a key. @returns whether it has one */
  press(event: KeyPress): boolean {
    // A key that completes a character of an input method is text.
    if (event.isComposing) return false;
    const pressed = this.#isMac ? withoutMacControl(event) : event;
    if (pressed === null) return false;
    const names = namesOf(pressed);
    const found = this.keys.peek().find((each) => names.includes(each.keys));
    if (found === undefined) return false;
    if (event.isTyping && !isCommand(event)) return false;
    if (isOfForm(event) && found.worksInForms !== true) return false;
    found.run();
    return true;
  }

  nameOf(keys: string): string {
    const name = keys.split('+').map(keyName).join(' ');
    return this.#isMac ? name.replace('Alt', 'Ctrl Option') : name;
  }
}

const KEY_NAMES: Readonly<Record<string, string>> = { Control: 'Ctrl', ArrowUp: '↑', ArrowDown: '↓' };

function keyName(key: string, index: number): string {
  return KEY_NAMES[key] ?? (index > 0 && key.length === 1 ? key.toUpperCase() : key);
}

function isOfForm(event: KeyPress): boolean {
  return event.isInForm && (event.isTyping || isCommand(event));
}

function withoutMacControl(event: KeyPress): KeyPress | null {
  if (!event.altKey || event.metaKey) return event;
  if (event.ctrlKey) return { ...event, ctrlKey: false };
  return event.isTyping ? null : event;
}

function isCommand({ ctrlKey, metaKey, altKey }: KeyPress): boolean {
  return ctrlKey || metaKey || altKey;
}

function namesOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }: KeyPress): readonly string[] {
  const character = key.length === 1 ? key.toLowerCase() : key;
  const place = altKey ? /^(?:Key|Digit)(.)$/.exec(code)?.[1]?.toLowerCase() : undefined;
  const modifiers = `${ctrlKey || metaKey ? 'Control+' : ''}${altKey ? 'Alt+' : ''}`;
  // Shift is part of a character such as `?`, and a modifier of letters and other keys.
  const isSymbol = key.length === 1 && key.toLowerCase() === key.toUpperCase();
  const shift = shiftKey && !isSymbol ? 'Shift+' : '';
  return [character, ...(place === undefined ? [] : [place])].map((name) => `${modifiers}${shift}${name}`);
}
