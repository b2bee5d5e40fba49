/** The version of the interface that this product speaks; /status tells it. */
export const interfaceVersion = '37.0.0'
