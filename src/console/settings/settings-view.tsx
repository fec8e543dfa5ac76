import type { JSX } from 'preact';
import { Select } from '../components/controls.tsx';
import { LogOutButton } from '../components/log-out-button.tsx';
import { Empty, Facts } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { THEMES, type Theme } from '../state/kept-theme.ts';
import type { View } from '../state/view.ts';

const THEME_WORDS: Readonly<Record<Theme, string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
};

/** The token of this tab, and what it may do. */
export const settingsView: View = { feeds: () => [], Body: Settings };

function Settings(): JSX.Element {
  const app = useApp();
  const index = app.index();
  if (index === null) return <Empty>Loading …</Empty>;
  const { service, token, history } = index;
  const allowed = index.actions.filter((action) => action.allowed).length;
  return (
    <>
      <section class="panel" aria-labelledby="token-title">
        <h2 id="token-title">Token</h2>
        <Facts
          rows={[
            ['Name', <code key="id">{token.id}</code>],
            ['Scopes', token.scopes.length === 0 ? 'none: this token only reads' : token.scopes.join(', ')],
            ['Actions', `${allowed} of ${index.actions.length}`],
          ]}
        />
        {app.canControl() ? null : (
          <p class="muted">
            This server does not forward actions. Set <code>admin.exposeControl</code> in its configuration to
            allow them.
          </p>
        )}
        <p class="muted">
          Logging out makes this tab forget the token. Texts that are not stored are sent first.
        </p>
        <p class="buttons">
          <LogOutButton />
        </p>
      </section>
      <section class="panel" aria-labelledby="appearance-title">
        <h2 id="appearance-title">Appearance</h2>
        <Select
          label="Theme"
          value={app.themes.theme.value}
          options={THEMES.map((theme) => [theme, THEME_WORDS[theme]])}
          onChange={(theme) => app.themes.choose(THEMES.find((each) => each === theme) ?? 'system')}
        />
      </section>
      <section class="panel" aria-labelledby="server-title">
        <h2 id="server-title">Server</h2>
        <Facts
          rows={[
            ['Name', <code key="name">{history.server}</code>],
            ['Version', service.version],
          ]}
        />
      </section>
      <section class="panel" aria-labelledby="more-title">
        <h2 id="more-title">For developers</h2>
        <p>
          <a href="#/components">All components of this console</a>, in every state.
        </p>
      </section>
    </>
  );
}
