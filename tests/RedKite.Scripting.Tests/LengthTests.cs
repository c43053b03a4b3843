using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Tests;

/// <summary>Only scripts that may make tables with holes pay for Lua 5.1's length. The lengths themselves are in RecordedLengths.txt.</summary>
public class LengthTests
{
    [Theory]
    [InlineData("local t = {} for i = 1, 9 do t[#t+1] = i end return #t")]
    [InlineData("local t = {} t[ #t + 1 ] = nil t[#t] = nil return #t")]
    [InlineData("local o = {list = {}} o.list[#o.list + 1] = ARGV[1] return #o.list")]
    [InlineData("local t = {1, 'a', true, {}, function() end, #KEYS, 1 == 2, not x} return #t")]
    [InlineData("local t = {redis.call('mget', 'a', 'b')} return #t[1]")]
    [InlineData("local t = {KEYS[1]} table.insert(t, ARGV[1]) return #t")]
    [InlineData("local t = {a = KEYS[1], ['b'] = nil} t.c = ARGV[1] t['d'] = nil return #ARGV")]
    [InlineData("local n = #ARGV if ARGV[1] == nil then return nil end return n")]
    public void Length_of_dense_tables_is_Luas(string script) => Assert.False(IsChecked(script));

    [Theory]
    [InlineData("return #{1, nil}")]
    [InlineData("local t = {KEYS[1], ARGV[1]} return #t")]
    [InlineData("local t = {1, x and y} return #t")]
    [InlineData("local t = {1, (f())} return #t")]
    [InlineData("local t = {...} return #t")]
    [InlineData("local t = {unpack(ARGV)} return #t")]
    [InlineData("local t = {[1] = 1} return #t")]
    [InlineData("local t = {} t[2] = 1 return #t")]
    [InlineData("local t = {} t[#u + 1] = 1 return #t")]
    [InlineData("local t = {} t[#t + 2] = 1 return #t")]
    [InlineData("local t = {} f()[#f() + 1] = 1 return #t")]
    [InlineData("local t = {} t[#t + 1], t[#t] = 1 return #t")]
    [InlineData("local t = {} table.insert(t, 1, x) return #t")]
    [InlineData("local t = {} table.insert(t, f()) return #t")]
    [InlineData("local t = {} local insert = table.insert return #t")]
    [InlineData("local t = {} local lib = table return #t")]
    [InlineData("local t = {} rawset(t, 2, 1) return #t")]
    [InlineData("local function f(...) return #arg end return f(1, nil)")]
    public void Length_of_tables_that_may_have_holes_is_checked(string script) => Assert.True(IsChecked(script));

    private static bool IsChecked(string script)
    {
        string text = ScriptTranslator.Translate(script, "@user_script", returnsOne: true, out _, out _);
        return text.Contains("__rk_l(", StringComparison.Ordinal) || text.Contains("__rk_g(", StringComparison.Ordinal);
    }
}
