import { describe, expect, it } from 'vitest';
import { parseChallenge } from '../../../../../src/daemon/upstream/adapters/oci-challenge.ts';

const SECURE = 'https://registry.example.net';

describe('the challenge of a registry', () => {
  it('names the token service, the service and the scope', () => {
    const field =
      'Bearer realm="https://auth.example.net/token",service="registry",scope="repository:a/b:pull"';
    expect(parseChallenge(field, SECURE)).toEqual({
      realm: 'https://auth.example.net/token',
      service: 'registry',
      scope: 'repository:a/b:pull',
    });
    expect(parseChallenge('bearer realm="https://auth.example.net"', SECURE)).toEqual({
      realm: 'https://auth.example.net',
      service: null,
      scope: null,
    });
  });

  it.each(['', 'Basic realm="x"', 'Bearers realm="https://x"'])('%j wants no token', (field) => {
    expect(parseChallenge(field, SECURE)).toBeNull();
  });

  it.each(['http://auth.example.net/token', 'file:///etc/passwd', 'no URL', ''])(
    'does not send a password to %j',
    (realm) => {
      expect(() => parseChallenge(`Bearer realm="${realm}"`, SECURE)).toThrow('not safe to ask');
    },
  );

  it('takes a token service over http only from a registry over http', () => {
    expect(parseChallenge('Bearer realm="http://localhost:1/token"', 'http://localhost:1')).not.toBeNull();
  });
});
