/** The Druid version whose API svc implements, as returned by `/status`. */
export const interfaceVersion = '37.0.0'
