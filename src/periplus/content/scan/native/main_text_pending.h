/* Stands in for main_text.h until that is there: all text is main text. */
static u32 attribute_hints(const u8 *name, size_t name_size, const u8 *value, size_t value_size) {
    (void)name, (void)name_size, (void)value, (void)value_size;
    return 0;
}
static int choose_main(const u8 *text, u32 size, const Block *blocks, u32 block_count, const Element *elements,
                       u32 element_count, u8 *is_main) {
    (void)text, (void)size, (void)blocks, (void)elements, (void)element_count;
    memset(is_main, 1, block_count);
    return 1;
}
