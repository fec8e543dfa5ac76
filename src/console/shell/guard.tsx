import { Component, h } from './preact.js';

/** @import { ComponentChildren } from './preact.js' */

/**
 * @typedef {{ readonly news: number, readonly children?: ComponentChildren }} GuardProps `news`: a change makes the
 * guard try again
 * @typedef {{ readonly news: number, readonly error: string | null }} GuardState
 */

/**
 * Prevents a view that cannot show its data from breaking the whole page.
 *
 * @extends {Component<GuardProps, GuardState>}
 */
export class Guard extends Component {
  /** @param {GuardProps} props */
  constructor(props) {
    super(props);
    this.state = { news: props.news, error: null };
  }

  /**
   * @override
   * @param {GuardProps} props
   * @param {GuardState} state
   * @returns {GuardState | null}
   */
  static getDerivedStateFromProps({ news }, state) {
    return news === state.news ? null : { news, error: null };
  }

  /**
   * @override
   * @param {unknown} error
   */
  componentDidCatch(error) {
    this.setState({ error: String(error) });
  }

  /** @override */
  render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return h(
      'div',
      { class: 'note bad' },
      h(
        'p',
        null,
        h('strong', null, 'This view cannot show the data from the server. '),
        h('span', null, error),
      ),
    );
  }
}
