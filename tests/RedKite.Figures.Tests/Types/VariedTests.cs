using System.Text;
using RedKite.Figures.Types;

namespace RedKite.Figures.Tests.Types;

/// <summary>The data that both servers receive.</summary>
public class VariedTests
{
    [Fact]
    public void Texts_are_unique_and_reproducible()
    {
        const int Texts = 200_000;
        var seen = new HashSet<string>();
        for (int i = 0; i < Texts; i++) Assert.True(seen.Add(TextOf(i)), $"text {i} occurs twice");
        Assert.Equal(TextOf(17), TextOf(17));
        Assert.All(TextOf(17), character => Assert.True(char.IsAsciiLetterOrDigit(character)));
    }

    [Fact]
    public void Texts_of_adjacent_keys_differ()
    {
        var seen = new HashSet<string>();
        for (int key = 0; key < 10_000; key++)
        {
            for (int field = 0; field < 20; field++) Assert.True(seen.Add(TextOf(((long)key << 8) + field)));
        }
    }

    [Fact]
    public void Text_longer_than_a_word_keeps_varying()
    {
        string text = TextOf(5, bytes: 30);
        Assert.NotEqual(text[..10], text[10..20]);
        Assert.NotEqual(text[10..20], text[20..]);
    }

    [Fact]
    public void Numbers_cover_their_range()
    {
        var seen = new HashSet<int>();
        for (int i = 0; i < 1000; i++) seen.Add(Varied.Below(10, i));
        Assert.Equal(Enumerable.Range(0, 10), seen.Order());
    }

    private static string TextOf(long number, int bytes = TypeData.TextBytes)
    {
        byte[] text = new byte[bytes];
        Varied.Fill(text, number);
        return Encoding.ASCII.GetString(text);
    }
}
