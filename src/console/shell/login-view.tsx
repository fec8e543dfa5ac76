import { Component, h } from './preact.js';

/**
 * @typedef {object} LoginProps
 * @property {string | null} message why the page asks for a token
 * @property {(token: string, keep: boolean) => Promise<string | null>} onLogin resolves with the problem, or `null`
 *
 * @typedef {object} LoginState
 * @property {string | null} problem
 * @property {boolean} busy
 */

/** The characters that a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;

/** @extends {Component<LoginProps, LoginState>} */
export class LoginView extends Component {
  /** @param {LoginProps} props */
  constructor(props) {
    super(props);
    /** @type {HTMLInputElement | null} */
    this.token = null;
    this.keep = false;
    this.state = { problem: null, busy: false };
  }

  /** @override */
  componentDidMount() {
    this.token?.focus();
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    const token = this.token?.value.trim() ?? '';
    if (!TOKEN.test(token)) {
      this.refuse('Enter a token of visible ASCII characters.');
      return;
    }
    this.setState({ busy: true, problem: null });
    const problem = await this.props.onLogin(token, this.keep);
    if (problem !== null) this.refuse(problem);
  }

  /** @param {string} problem */
  refuse(problem) {
    this.setState({ problem, busy: false });
    this.token?.focus();
    this.token?.select();
  }

  /** @override */
  render() {
    const { problem, busy } = this.state;
    const message = problem ?? this.props.message;
    return h(
      'main',
      { class: 'login', id: 'main' },
      h('img', { src: 'icon.svg', alt: '', width: 56, height: 56 }),
      h('h1', null, 'Slipway'),
      h('p', null, 'Enter the admin token of this server.'),
      h(
        'form',
        { onSubmit: (/** @type {Event} */ event) => void this.submit(event), noValidate: true },
        h(
          'div',
          { class: 'field' },
          h('label', { for: 'token' }, 'Admin token'),
          h('input', {
            id: 'token',
            type: 'password',
            autocomplete: 'off',
            spellcheck: false,
            'aria-invalid': problem !== null,
            'aria-describedby': 'token-message',
            ref: (/** @type {HTMLInputElement | null} */ element) => {
              this.token = element;
            },
          }),
        ),
        h('p', { id: 'token-message', class: 'problem', role: 'alert' }, message),
        h(
          'div',
          { class: 'field switch' },
          h('input', {
            id: 'keep',
            type: 'checkbox',
            onChange: (/** @type {Event} */ event) => {
              this.keep = /** @type {HTMLInputElement} */ (event.currentTarget).checked;
            },
          }),
          h('label', { for: 'keep' }, 'Keep it until this tab is closed'),
        ),
        h(
          'button',
          { type: 'submit', class: 'primary', disabled: busy },
          busy ? 'Checking the token …' : 'Open the dashboard',
        ),
      ),
      h(
        'p',
        { class: 'faint' },
        'The token stays in this tab. The page sends it only to this server, in a header.',
      ),
    );
  }
}
