import { describe, expect, it } from 'vitest';
import {
  chooseTokenService,
  parseChallenge,
  type TokenServiceRules,
} from '../../../../../src/daemon/upstream/adapters/oci-challenge.ts';

describe('the challenge of a registry', () => {
  it.each([
    [
      'Bearer realm="https://auth.example.net/token",service="registry",scope="repository:a/b:pull"',
      { realm: 'https://auth.example.net/token', service: 'registry' },
    ],
    ['bearer realm="https://auth.example.net"', { realm: 'https://auth.example.net', service: null }],
    [
      'Basic realm="x", Bearer realm="https://a.net/t" , service=plain',
      { realm: 'https://a.net/t', service: 'plain' },
    ],
    ['Bearer realm="https://a.net/t", Basic realm="x"', { realm: 'https://a.net/t', service: null }],
    ['Bearer realm="https://a.net/t",realm="https://b.net/t"', { realm: 'https://a.net/t', service: null }],
    [String.raw`Bearer realm="https://a.net/\"t"`, { realm: 'https://a.net/"t', service: null }],
  ])('%j names a token service', (field, challenge) => {
    expect(parseChallenge(field)).toEqual(challenge);
  });

  it.each([
    '',
    'Basic realm="x"',
    'Bearers realm="https://x"',
    'Bearer',
    'Bearer service="x"',
    'Basic realm="Bearer realm=https://x"',
    'Bearer realm="https://x',
    '"',
    '=,=',
  ])('%j names none', (field) => {
    expect(parseChallenge(field)).toBeNull();
  });
});

const RULES: TokenServiceRules = {
  registry: 'https://registry.example.net',
  tokenService: 'https://auth.example.net',
  hasCredentials: true,
  allowOtherOrigins: true,
};

describe('the token service that gets a password', () => {
  it.each(['https://registry.example.net/token', 'https://auth.example.net/a/b?c=d'])('is %s', (realm) => {
    expect(chooseTokenService(realm, RULES)).toMatchObject({ ok: true, isOwn: true });
  });

  it.each([
    ['https://other.example.net/token', 'set upstream.oci.tokenService to https://other.example.net'],
    ['https://registry.example.net:8443/token', 'is another origin'],
    ['https://registry.example.net.evil.example/token', 'is another origin'],
    ['https://registry.example.net@evil.example/token', 'holds a name or a password'],
    ['http://registry.example.net/token', 'http although the registry is https'],
    ['http://auth.example.net/token', 'http although the registry is https'],
    ['file:///etc/passwd', 'not an http(s) URL'],
    ['no URL', 'not an http(s) URL'],
  ])('is not %s', (realm, problem) => {
    const chosen = chooseTokenService(realm, RULES);
    expect(chosen.ok ? '' : chosen.problem).toContain(problem);
  });

  it('may be any other one where there is no password, unless other origins are forbidden', () => {
    const realm = 'https://other.example.net/token';
    const anonymous = { ...RULES, hasCredentials: false };
    expect(chooseTokenService(realm, anonymous)).toMatchObject({ ok: true, isOwn: false });
    expect(chooseTokenService(realm, { ...anonymous, allowOtherOrigins: false }).ok).toBe(false);
    expect(chooseTokenService('http://other.example.net/token', anonymous).ok).toBe(false);
  });

  it('may be http behind a registry of http', () => {
    const rules = { ...RULES, registry: 'http://localhost:1' };
    expect(chooseTokenService('http://localhost:1/token', rules)).toMatchObject({ ok: true, isOwn: true });
    expect(chooseTokenService('http://localhost:2/token', rules).ok).toBe(false);
  });
});
