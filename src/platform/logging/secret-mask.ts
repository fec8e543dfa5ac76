/** Replaces the tokens of a process in text that comes from outside, so that none reaches a log or a record. */
export interface SecretMask {
  /** Adds a token. A token of fewer than 8 characters is ignored: it would occur in ordinary text. */
  readonly learn: (token: string) => void;
  readonly mask: (text: string) => string;
}

const MASKED = '[redacted]';
const MIN_LENGTH = 8;
const MAX_TOKENS = 64;

/** Makes a mask that knows no token yet. */
export function createSecretMask(): SecretMask {
  const tokens = new Set<string>();
  return {
    learn: (token) => {
      if (token.length < MIN_LENGTH) return;
      tokens.add(token);
      const [oldest] = tokens;
      if (tokens.size > MAX_TOKENS && oldest !== undefined) tokens.delete(oldest);
    },
    mask: (text) => {
      let masked = text;
      for (const token of tokens) masked = masked.replaceAll(token, MASKED);
      return masked;
    },
  };
}

/** Masks every string of a JSON value, at any depth. @param value the result of `parseJsonExact`; it is not changed */
export function maskStrings(value: unknown, secrets: SecretMask): unknown {
  if (typeof value === 'string') return secrets.mask(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => maskStrings(item, secrets));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, maskStrings(member, secrets)]),
  );
}
